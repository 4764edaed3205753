"""Views of whole recordings, from what is stored with the trace where that takes less time."""

from __future__ import annotations

import time
from collections.abc import Callable

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.opening.stored_answers import stored_answers
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.view_bytes import from_bytes, to_bytes

LONG_S = 0.02
"""A view that took longer is stored. Loading one takes a few milliseconds."""


def view_of(spec: ViewSpec, trace: Trace, subject: Subject, compute: Callable[[], View]) -> View:
    """The view that ``compute`` computes: where nothing is selected and nothing else is asked, as
    it was stored.

    Args:
        spec: Declaration of the view.
        trace: The trace.
        subject: What was asked about it.
        compute: Computes the view.
    """
    answers = stored_answers(trace)
    asks_more = any(each.key in subject.parameters for each in spec.parameters)
    if answers is None or asks_more or subject.selection != Selection():
        return compute()
    name = f"view {spec.name}"
    stored = answers.load(name, lambda data: from_bytes(data, spec, compute))
    if stored is not None:
        return stored
    started_s = time.perf_counter()
    view = compute()
    if time.perf_counter() - started_s > LONG_S and not view.findings_pending:
        answers.store(name, lambda: to_bytes(view, spec))
    return view
