"""The table of how fast operators compute with each shape."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.shape_speeds import shape_speeds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shapes.columns import NO_FLOPS, NO_SPEED, SHAPES


def shapes_table(trace: Trace, selection: Selection, peak: str | None) -> Table:
    """The rows of a selection, in their default order.

    Raises:
        SelectionError: the selection or the peak makes no sense for this trace.
    """
    speeds = shape_speeds(trace, selection, peak)
    frame = pl.DataFrame(
        {
            "name": codes.texts(trace, speeds["name_code"]),
            "input_shapes": codes.texts(trace, speeds["input_shape_code"]),
            "calls": speeds["calls"],
            "time_us": microseconds(speeds["time_ns"]),
            "mean_us": microseconds(speeds["time_ns"], speeds["calls"]),
            "tflops_per_s": speeds["flop_per_ns"] / 1e3,
            "slower": speeds["slower"],
            "lost_us": speeds["lost_ns"] / 1e3,
            "flops": speeds["flops"],
        },
        schema=SHAPES.polars_schema(),
    )
    reasons = {"flops": NO_FLOPS, **dict.fromkeys(("tflops_per_s", "slower", "lost_us"), NO_SPEED)}
    return in_default_order(Table(SHAPES, frame, needed(frame, reasons)))
