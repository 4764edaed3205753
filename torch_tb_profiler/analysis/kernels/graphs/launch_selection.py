"""The launches of graphs in a selection, and the one that is shown in detail.

Definitions: ``docs/views-compiled.md#graph-launches``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

_MAX_QUOTED = 40
"""At most so many characters of a user's text are repeated in an error."""


def selected_launches(trace: Trace, selection: Selection) -> Bools:
    """Mask of the launches whose first work is in the selection; all their work counts.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    launches = graph_launches(trace)
    if selection.is_everything:
        return np.ones(launches.count, np.bool_)
    chosen: Bools = device_work_mask(trace, selection)[launches.row[launches.first[:-1]]]
    return chosen


def resolve_launch(trace: Trace, selected: Bools, operator_id: str | None) -> int | None:
    """The launch whose number (from 1) is ``operator_id``, else the longest of ``selected`` (a mask
    over all); None where none is selected.

    Raises:
        SelectionError: no launch has the number.
    """
    count = len(selected)
    if operator_id is not None:
        text = operator_id
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= count):
            raise SelectionError(
                f"operator_id: no launch {text[:_MAX_QUOTED]!r} of a graph in this trace; "
                f"it has {count:,}, numbered from 1"
            )
        return int(text) - 1
    if not selected.any():
        return None
    return int(np.where(selected, graph_times(trace).span_ns, -1).argmax())
