"""Batches of recorded loaders: which were waited for, and the curves of what was ready."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN, source_of
from torch_tb_profiler.knowledge.data_loading import data_loading
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.data.columns import WAITS
from torch_tb_profiler.views.data.queues import MAX_POINTS
from torch_tb_profiler.views.loader_diagnosis import phase_title
from torch_tb_profiler.views.null_reasons import needed, recorded_or
from torch_tb_profiler.views.schema import Line, Series, Table

NO_QUEUE = "Batches were ready, but not the next one; or there are no workers to prefetch."

_IS_WAITED = (pl.col("wait_us") > 0) & (
    pl.col("wait_us") >= pl.col("period_us") * (data_loading().waited_pct / 100)
)


def loader_waits_table(trace: Trace, batches: pl.DataFrame) -> Table:
    """The batches that were waited for."""
    name = pl.format("{} batch {}", pl.col("phase").replace_strict(_WORDS), "batch")
    step = pl.when(pl.col("step").is_null() | (pl.col("phase") != TRAIN)).then(name)
    frame = batches.filter(_IS_WAITED).select(
        step.otherwise(pl.col("step").cast(pl.String)).alias("step"),
        "wait_us",
        step_us="period_us",
        wait_pct=pl.col("wait_us") / pl.col("period_us") * 100,
        queue=pl.when(pl.col("ready") == 0).then(pl.format("loader {}", "loader")),
        source=pl.lit(source_of(trace)),
    )
    return Table(
        WAITS, frame, needed(frame, {"queue": recorded_or(trace, "loader_queues", NO_QUEUE)})
    )


def ready_series(batches: pl.DataFrame) -> dict[str, Series]:
    """Per loader and phase that has a queue: what was ready at each batch, and which waited."""
    charts: dict[str, Series] = {}
    known = batches.filter(pl.col("ready").is_not_null())
    for (phase, loader), rows in known.group_by("phase", "loader", maintain_order=True):
        kind = phase_title(str(phase))
        x_title, x = _positions(rows)
        ready = [float(each) for each in rows["ready"].to_list()]
        lines = [Line("Ready", *_downsampled(x, ready))]
        capacity = rows["capacity"].max()
        if isinstance(capacity, int) and len(x) > 1:
            lines.append(Line("Prefetch limit", [x[0], x[-1]], [float(capacity)] * 2))
        is_waited = rows.select(_IS_WAITED.alias("waited"))["waited"].to_list()
        if any(is_waited):
            lines.append(Line("Waited for", *_points(x, ready, is_waited)))
        title = f"Batches ready at each request: loader {loader}, {kind}"
        one = Series(title, "stair", x_title, None, "Batches", "count", tuple(lines))
        charts[f"ready_{kind}_{loader}"] = one
    return charts


def loader_wait_series(batches: pl.DataFrame) -> dict[str, Series]:
    """Per phase the wait for each batch."""
    charts: dict[str, Series] = {}
    for (phase,), rows in batches.group_by("phase", maintain_order=True):
        kind = phase_title(str(phase))
        lines = []
        x_title = "Batch"
        for (loader,), mine in rows.group_by("loader", maintain_order=True):
            x_title, x = _positions(mine)
            lines.append(Line(f"Loader {loader}", *_downsampled(x, mine["wait_us"].to_list())))
        title = f"Wait for each batch: {kind}"
        charts[f"wait_{kind}"] = Series(title, "bar", x_title, None, "Time", "us", tuple(lines))
    return charts


_WORDS = {phase: phase_title(phase) for phase in ("train", "evaluation")}


def _positions(rows: pl.DataFrame) -> tuple[str, list[float]]:
    """Where batches stand: at their steps where each has its own, else one after the other."""
    steps = rows["step"]
    is_of_steps = rows["phase"][0] == TRAIN and not steps.null_count()
    if is_of_steps and bool((steps.diff().drop_nulls() > 0).all()):
        return "Step", [float(step) for step in steps.to_list()]
    return "Batch", [float(position) for position in range(rows.height)]


def _downsampled(x: list[float], y: list[float]) -> tuple[list[float], list[float | None]]:
    every = max(1, -(-len(x) // MAX_POINTS))
    return x[::every], list(y[::every])


def _points(
    x: list[float], y: list[float], shown: list[bool]
) -> tuple[list[float], list[float | None]]:
    """Of the values those that are shown, each alone: a gap follows it."""
    rows = [row for row, is_shown in enumerate(shown) if is_shown][: MAX_POINTS // 2]
    at = [each for row in rows for each in (x[row], x[row] + 0.5)]
    return at, [each for row in rows for each in (y[row], None)]
