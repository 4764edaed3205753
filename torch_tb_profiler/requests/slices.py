"""The answer about one slice; what is known of it is declared by ``views.slice.details``."""

from __future__ import annotations

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.views import TraceRef
from torch_tb_profiler.views.slice.details import SliceDetails


class SliceAnswer(Answer, kw_only=True):
    """``/slice/<id>``: one event with its arguments, call stack and links."""

    trace: TraceRef
    slice: SliceDetails
