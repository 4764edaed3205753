"""Where steps lie on the axis of the curves: those of the trace, else those a recorder timed."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.split import split_of
from torch_tb_profiler.analysis.steps.masks import selected_steps, time_range
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.resources.columns import STEPS
from torch_tb_profiler.views.schema import Table

MAX_STEPS = 60
"""Steps that are marked on the curves; of more every nth, so that marks do not cover the curves."""
EVALUATION = "evaluation"


def steps_table(trace: Trace, selection: Selection, origin_ns: int) -> Table:
    """The steps of a selection, in µs since ``origin_ns``.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    steps = _of_trace(trace, selection)
    if steps.is_empty():
        steps = _timed(trace, selection)
    steps = steps.sort("start_ns", maintain_order=True).gather_every(_every(steps.height))
    frame = steps.select(
        pl.col("step"),
        ((pl.col("start_ns") - origin_ns) / NS_PER_US).alias("start_us"),
        ((pl.col("end_ns") - origin_ns) / NS_PER_US).alias("end_us"),
    )
    return Table(STEPS, frame)


def _of_trace(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Each step once: of several processes from the first start to the last end."""
    is_cut = split_of(trace).by.kind != "steps"
    is_shown = pl.col("slice").is_not_null() | pl.lit(is_cut)
    steps = trace.steps.filter(selected_steps(trace, selection), is_shown)
    return (
        steps.with_columns(time=pl.int_range(pl.len()).over("process", "name"))
        .group_by("name", "time", maintain_order=True)
        .agg(pl.col("host_start_ns").min(), pl.col("host_end_ns").max())
        .select(step="name", start_ns="host_start_ns", end_ns="host_end_ns")
    )


def _timed(trace: Trace, selection: Selection) -> pl.DataFrame:
    """What the recorder timed, in the time range; steps of evaluations are called so."""
    side = trace.side.get("timed_steps")
    if side is None or selection.steps is not None:
        return pl.DataFrame(schema={"step": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64})
    first_ns, last_ns = time_range(trace, selection)
    start = (pl.col("start_us") * NS_PER_US).cast(pl.Int64)
    end = ((pl.col("start_us") + pl.col("duration_us")) * NS_PER_US).cast(pl.Int64)
    number = pl.col("step").cast(pl.String).fill_null("")
    is_other = pl.col("phase") == EVALUATION
    name = pl.when(is_other).then(pl.concat_str(pl.lit(EVALUATION + " "), number))
    return (
        side.frame.filter(pl.col("start_us").is_finite(), pl.col("duration_us").is_finite())
        .select(step=name.otherwise(number), start_ns=start, end_ns=end)
        .filter(
            pl.lit(first_ns is None) | (pl.col("end_ns") > (first_ns or 0)),
            pl.lit(last_ns is None) | (pl.col("start_ns") < (last_ns or 0)),
        )
    )


def _every(count: int) -> int:
    """Of so many steps each nth is marked: 1, 2, 5, 10, 20 …"""
    every, factors = 1, (2.0, 2.5, 2.0)
    round_number = 0
    while count > MAX_STEPS * every:
        every = int(every * factors[round_number % 3])
        round_number += 1
    return every
