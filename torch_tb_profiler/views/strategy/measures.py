"""The measures of each rank, means over the selected steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.parallel.costs import rows_of_steps
from torch_tb_profiler.analysis.ranks.rank_steps import rank_steps
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds

_SUMMED = ("computation_ns", "idle_ns", "input_wait_ns", "host_wait_ns", "duration_ns")


def rank_measures(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    frame: pl.DataFrame,
    costs: pl.DataFrame,
) -> pl.DataFrame:
    """One row per worker, by its index ``worker``, with the columns of
    :data:`torch_tb_profiler.views.strategy.columns.MEASURE_COLUMNS`; null without steps.

    Args:
        traces: In the order of the workers.
        windows: The selected steps of the workers that have any.
        frame: These steps (``window_frame``).
        costs: The costs of the dimensions in them (``dimension_costs``).
    """
    averaged = frame.filter("averaged").select(pl.col("row").cast(pl.Int64))
    steps = _selected_steps(traces, windows, frame).join(averaged, on="row")
    count = frame.filter("averaged").group_by("worker").agg(pl.len().alias("steps"))
    sums = steps.group_by("worker").agg(pl.col(_SUMMED).sum(), pl.col("memory_peak_bytes").max())
    lengths = (
        frame.filter("averaged")
        .group_by("worker")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("step_ns"))
    )
    communication = (
        costs.join(frame.filter("averaged"), on=["worker", "window"])
        .group_by("worker")
        .agg(
            pl.when(pl.col("exposed_ns").is_not_null().any())
            .then(pl.col("exposed_ns").sum())
            .alias("exposed_ns"),
            pl.when(pl.col("wait_ns").is_not_null().any())
            .then(pl.col("wait_ns").sum())
            .alias("wait_ns"),
        )
    )
    rows = pl.DataFrame({"worker": np.arange(len(traces))})
    for part in (count, sums, lengths, communication):
        rows = rows.join(part, on="worker", how="left")
    steps_of_rank = rows["steps"]
    return rows.select(
        "worker",
        "memory_peak_bytes",
        *(
            microseconds(rows[f"{key}_ns"], steps_of_rank).alias(f"{name}_us")
            for key, name in (
                ("computation", "computation"),
                ("exposed", "exposed_communication"),
                ("wait", "wait"),
                ("idle", "idle"),
                ("step", "step"),
                ("input_wait", "input_wait"),
                ("host_wait", "host_wait"),
            )
        ),
        busy_pct=pl.when(pl.col("duration_ns") > 0).then(
            100 * (1 - pl.col("idle_ns") / pl.col("duration_ns"))
        ),
    )


def _selected_steps(
    traces: Mapping[str, Trace], windows: Mapping[str, StepWindows], frame: pl.DataFrame
) -> pl.DataFrame:
    """The steps of all ranks with the ``row`` of the window that each is in."""
    frames = [rank_steps(trace) for trace in traces.values()]
    heights = [each.height for each in frames]
    steps = pl.concat(frames, rechunk=True).with_columns(
        worker=np.repeat(np.arange(len(frames)), heights)
    )
    return steps.join(rows_of_steps(list(traces), windows, frame), on=["worker", "step"])
