"""How fast operators compute with each shape of their inputs.

Definitions: ``docs/views-shapes.md#speed-by-shape``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.efficiency.calls import holding_calls
from torch_tb_profiler.analysis.efficiency.groups import selected_calls
from torch_tb_profiler.analysis.efficiency.roofs import roof_times
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_KEYS = ("name_code", "input_shape_code")


def shape_speeds(trace: Trace, selection: Selection, peak: str | None = None) -> pl.DataFrame:
    """The selected calls with a recorded shape, by operator and shape, in order of first call.

    Columns: name_code, input_shape_code, calls, time_ns, flops (null where unknown of all),
    flop_per_ns (of calls whose FLOPs are known; null without time), lost_ns (time that calls with
    known FLOPs would save at the speed of the operator's best shape, or at their own roof where
    that allows less; at ``peak`` where it is given), slower (their time over what is left then; 1
    loses nothing).

    Time is that of the device, as :func:`holding_calls` has it; where none is recorded, that of the
    calls on the host.

    Raises:
        SelectionError: the selection or the peak makes no sense for this trace.
    """
    frame = _columns(trace).with_columns(
        roof_ns=pl.when(pl.col("flops").is_not_null()).then(
            pl.Series(roof_times(trace, peak).roof_ns).fill_nan(0)
        )
    )
    frame = frame.filter(pl.Series(selected_calls(trace, selection)))
    groups = (
        frame.filter(pl.col("input_shape_code") >= 0)
        .group_by(_KEYS, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("time_ns", "flops", "flops_time_ns", "roof_ns").sum(),
            pl.col("flops").is_not_null().any().alias("is_known"),
        )
    )
    speed = pl.when(pl.col("is_known") & (pl.col("flops") > 0) & (pl.col("flops_time_ns") > 0))
    groups = groups.with_columns(
        pl.when("is_known").then("flops").alias("flops"),
        flop_per_ns=speed.then(pl.col("flops") / pl.col("flops_time_ns")),
    )
    best = pl.col("flop_per_ns").max().over("name_code")
    time = pl.col("flops_time_ns")
    reachable = pl.max_horizontal(pl.col("flop_per_ns") / best * time, "roof_ns")
    reachable = pl.min_horizontal(reachable, time)
    is_known = pl.col("flop_per_ns").is_not_null()
    speeds: pl.DataFrame = groups.select(
        *_KEYS,
        "calls",
        "time_ns",
        "flops",
        "flop_per_ns",
        slower=pl.when(is_known).then(time / reachable),
        lost_ns=pl.when(is_known).then(time - reachable),
    )
    return speeds


@per_trace
def _columns(trace: Trace) -> pl.DataFrame:
    """What :func:`shape_speeds` sums, a row per holding call; made once."""
    calls, of_all = holding_calls(trace), operator_calls(trace)
    rows = of_all[calls.row].select(*_KEYS, "host_total_ns")
    time = rows["host_total_ns"]
    if no_device_time(trace) is None:
        time = pl.Series(calls.time_ns)
    columns: pl.DataFrame = rows.select(
        *_KEYS, time_ns=time, flops=pl.Series(calls.flops, nan_to_null=True)
    ).with_columns(
        flops_time_ns=pl.when(pl.col("flops").is_not_null()).then("time_ns").otherwise(0)
    )
    return columns
