"""Graphs of a trace that were captured in another one: which captured kernel each kernel is.

Definitions: ``docs/views-compiled.md#capture-traces``.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class CapturedWork:
    """What was captured for the work of graphs.

    Attributes:
        frame: The rows of the side table ``captured_kernels``.
        row: Per row of ``GraphLaunches.row`` the row of ``frame`` that it is, -1 for none.
        has_shapes: Per row of ``GraphLaunches.row`` whether its shapes are known, too: several
            captures of other batch sizes may fit a launch whose own is not known.
    """

    frame: pl.DataFrame
    row: Int64
    has_shapes: Bools


@per_trace
def captured_work(trace: Trace) -> CapturedWork | None:
    """What was captured for the work of all graphs; None where no capture stands beside the
    trace."""
    side = trace.side.get("captured_kernels")
    if side is None or side.frame.is_empty():
        return None
    return None
