"""The batches of data loaders that a recorder told of, with the time until the next one."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS
from torch_tb_profiler.trace.units import NS_PER_US

WORK_COLUMNS = ("fetch_us", "transform_us", "collate_us", "pin_us", "transfer_us")
TRAIN, EVALUATION = "train", "evaluation"


@per_trace
def batch_rows(trace: Trace) -> pl.DataFrame:
    """All batches in order of time: the columns of the side table ``loader_batches``, and
    ``period_us``: from being asked for until the loader was asked again, or another one in between
    for another phase, never less than the wait; null for the last one of all."""
    rows = _side(trace, "loader_batches").filter(
        pl.col("loader").is_not_null(),
        pl.col("start_us").is_finite(),
        pl.col("wait_us").is_finite() & (pl.col("wait_us") >= 0),
    )
    phase = pl.when(pl.col("phase") == EVALUATION).then(pl.lit(EVALUATION)).otherwise(pl.lit(TRAIN))
    rows = rows.with_columns(phase=phase).sort("start_us", maintain_order=True)
    after = pl.col("start_us").shift(-1)
    of_loader = after.over("run", "loader")
    until = pl.coalesce(of_loader, after)
    period = pl.max_horizontal(until - pl.col("start_us"), "wait_us")
    joined: pl.DataFrame = (
        rows.with_columns(run=pl.col("phase").rle_id())
        .with_columns(period_us=pl.when(until.is_not_null()).then(period))
        .drop("run")
    )
    return joined


@per_trace
def work_rows(trace: Trace) -> pl.DataFrame:
    """The side table ``loader_work``, without times that are none."""
    times = [
        pl.when(pl.col(key).is_finite() & (pl.col(key) >= 0)).then(pl.col(key)).alias(key)
        for key in WORK_COLUMNS
    ]
    rows: pl.DataFrame = _side(trace, "loader_work").with_columns(times)
    return rows


def selected_batches(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The rows of :func:`batch_rows` that were asked for in a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    rows = batch_rows(trace)
    if selection.is_everything:
        return rows
    windows = step_windows(trace, selection)
    start_ns = (rows["start_us"] * NS_PER_US).to_numpy()
    row = windows.end_ns.searchsorted(start_ns, "right")
    inside = row < len(windows.end_ns)
    inside[inside] = start_ns[inside] >= windows.start_ns[row[inside]]
    return rows.filter(pl.Series(inside))


def work_of(trace: Trace, batches: pl.DataFrame) -> pl.DataFrame:
    """The rows of :func:`work_rows` of some batches, with ``phase``."""
    keys = batches.select("loader", "batch", "phase").unique(("loader", "batch"), keep="first")
    return work_rows(trace).join(keys, on=["loader", "batch"], how="inner", maintain_order="left")


def started_late(batches: pl.DataFrame, work: pl.DataFrame) -> pl.Series:
    """Per batch its wait, where no worker had begun with it when it was asked for: an epoch begins.
    Who waits for workers that run waits for work that was begun before."""
    begun = (
        work.filter(pl.col("worker").is_not_null() & pl.col("fetch_us").is_not_null())
        .select("loader", "batch", "phase", begun_us="start_us")
        .unique(("loader", "batch", "phase"), keep="first")
    )
    keys = ["loader", "batch", "phase"]
    joined = batches.join(begun, on=keys, how="left", maintain_order="left")
    late = pl.when(pl.col("begun_us") > pl.col("start_us")).then("wait_us").otherwise(0.0)
    late_us: pl.Series = joined.select(late.alias("late_us"))["late_us"]
    return late_us


def source_of(trace: Trace) -> str:
    """The file that tells of batches."""
    side = trace.side.get("loader_batches")
    return "" if side is None else side.source


def _side(trace: Trace, name: str) -> pl.DataFrame:
    side = trace.side.get(name)
    return pl.DataFrame(schema=SIDE_SCHEMAS[name]) if side is None else side.frame
