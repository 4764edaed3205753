"""The answers about one slice; what is known of it is declared by ``views.slice``."""

from __future__ import annotations

from typing import Literal

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.views import TraceRef
from torch_tb_profiler.views.slice.arguments import RecordedArgument
from torch_tb_profiler.views.slice.details import SliceDetails

ArgumentsState = Literal["found", "missing"]


class SliceAnswer(Answer, kw_only=True):
    """``/slice/<id>``: one event with its arguments, call stack and links."""

    trace: TraceRef
    slice: SliceDetails


class SliceArgumentsAnswer(Answer, kw_only=True):
    """``/slice/<id>/arguments``: its arguments as the file has them; ``problem`` says why they
    are unknown. ``count`` counts those beyond the listed ones, too."""

    trace: TraceRef
    slice: int
    state: ArgumentsState
    arguments: list[RecordedArgument]
    count: int
    problem: Problem | None
