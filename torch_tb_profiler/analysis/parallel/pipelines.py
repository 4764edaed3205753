"""The pipelines of a job: which schedule each follows, and how long every stage has nothing to do.

A pipeline is the ranks with the same coordinates in all dimensions but ``pipeline``. It lasts as
long as its longest stage from its first pass to its last one: no clocks are compared. What a stage
does not spend in passes of that time is its bubble (``docs/views-strategy.md#pipelines``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.parallel.costs import rows_of_steps
from torch_tb_profiler.analysis.parallel.interleaving import warm_up_passes, with_inferred_chunks
from torch_tb_profiler.analysis.parallel.passes import microbatch_passes
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.parallel import minimum_bubble
from torch_tb_profiler.trace.model import Trace

OTHER_SCHEDULE = "other"
_LETTERS = {"forward": "F", "backward": "B", "input": "I", "weight": "W"}

STAGE_STEPS = pl.Schema(
    {
        "worker": pl.Int64,  # index
        "pipeline": pl.Int64,  # number of the pipeline
        "stage": pl.Int64,  # coordinate of the rank
        "step": pl.String,  # name
        "span_ns": pl.Int64,  # of the whole pipeline in this step
        "busy_ns": pl.Int64,  # in passes
        "forward_ns": pl.Int64,  # in forward passes
        "passes": pl.Int64,
        "microbatches": pl.Int64,
        "chunks": pl.Int64,  # stages that the rank holds
        "order": pl.String,  # "FFBFBB"
    }
)
"""One row per rank and step with passes."""


class Pipelines(Struct, frozen=True, eq=False):
    """The pipelines of a job.

    Attributes:
        stages: As :data:`STAGE_STEPS`.
        passes: Every pass with ``worker``, ``pipeline``, ``stage`` (coordinate), ``step`` (name),
            ``chunk`` (stage that a range names), ``kind``, ``microbatch``, ``start_ns``,
            ``end_ns``.
        stage_count: Ranks of a pipeline.
        schedule: The schedule of most steps; None where there is none.
        minimum: The share of time that it cannot keep a stage busy; None where unknown.
    """

    stages: pl.DataFrame
    passes: pl.DataFrame
    stage_count: int
    schedule: str | None
    minimum: float | None


def pipelines(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    frame: pl.DataFrame,
    coordinates: pl.DataFrame,
    stage_count: int | None,
) -> Pipelines:
    """The pipelines of a job in the steps that means are over.

    Args:
        traces: In the order of the ranks.
        windows: The selected steps of the workers that have any.
        frame: These steps (``window_frame``).
        coordinates: Of the ranks (``rank_coordinates``), in the same order.
        stage_count: Size of the pipeline dimension; None takes the stages that are recorded.
    """
    passes = _passes(traces, windows, frame, coordinates)
    stages = _stages(passes)
    recorded = int(stages["stage"].n_unique())
    count = max(stage_count or 0, recorded)
    stages = with_inferred_chunks(stages, count)
    schedule = _schedule(stages, count)
    minimum = None
    if schedule is not None:
        usual = stages.select(pl.col("microbatches", "chunks").median()).row(0)
        minimum = minimum_bubble(schedule, count, round(usual[0]), round(usual[1]))
    return Pipelines(stages, passes, count, schedule, minimum)


def _passes(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    frame: pl.DataFrame,
    coordinates: pl.DataFrame,
) -> pl.DataFrame:
    frames = [microbatch_passes(trace) for trace in traces.values()]
    heights = [each.height for each in frames]
    passes = pl.concat(frames, rechunk=True).with_columns(
        worker=np.repeat(np.arange(len(frames)), heights)
    )
    rows = rows_of_steps(list(traces), windows, frame)
    averaged = frame.filter("averaged").select(pl.col("row").cast(pl.Int64), "name")
    others = [axis for axis in ("data", "context", "tensor") if axis in coordinates.columns]
    ranks = coordinates.select(
        pl.int_range(pl.len()).alias("worker"),
        pl.col("pipeline").cast(pl.Int64).alias("own_stage"),
        pl.struct(others).rank("dense").cast(pl.Int64).alias("number"),
    )
    return (
        passes.rename({"stage": "chunk"})
        .join(rows, on=["worker", "step"])
        .join(averaged, on="row")
        .join(ranks.drop_nulls("own_stage"), on="worker")
        .select(
            "worker",
            pipeline=pl.col("number"),
            stage=pl.col("own_stage"),
            step=pl.col("name"),
            chunk="chunk",
            kind="kind",
            microbatch="microbatch",
            start_ns="start_ns",
            end_ns="end_ns",
        )
    )


def _stages(passes: pl.DataFrame) -> pl.DataFrame:
    key = ["worker", "step"]
    letters = pl.col("kind").replace_strict(_LETTERS, return_dtype=pl.String)
    ordered = passes.sort("worker", "step", "start_ns", maintain_order=True)
    number = ordered.select(pl.struct(key).rle_id().cast(pl.Int64)).to_series().to_numpy()
    forward = (ordered["kind"] == "forward").to_numpy()
    start, end = ordered["start_ns"].to_numpy(), ordered["end_ns"].to_numpy()
    rows = ordered.group_by(key, maintain_order=True).agg(
        pl.col("pipeline", "stage").first(),
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("own_ns"),
        pl.len().alias("passes"),
        (pl.col("kind") == "forward").sum().alias("forwards"),
        pl.max_horizontal(pl.lit(1), pl.col("chunk").drop_nulls().n_unique()).alias("chunks"),
        letters.str.join("").alias("order"),
    )
    rows = rows.with_columns(
        busy_ns=union_lengths(number, start, end, rows.height),
        forward_ns=union_lengths(np.where(forward, number, -1), start, end, rows.height),
        span_ns=pl.col("own_ns").max().over("pipeline", "step"),
        microbatches=pl.col("forwards") // pl.col("chunks"),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in STAGE_STEPS.items())


def _schedule(stages: pl.DataFrame, count: int) -> str | None:
    """The schedule that most pipelines follow in most steps."""
    kinds = stages.select("order", "stage", "chunks").unique()
    fits = kinds.with_columns(
        pl.Series(
            "fits",
            [_fits(order, stage, count, chunks) for order, stage, chunks in kinds.rows()],
            pl.List(pl.String),
        )
    )
    per_step = (
        stages.join(fits, on=["order", "stage", "chunks"])
        .group_by("pipeline", "step")
        .agg(pl.col("fits"))
    )
    votes = [
        next((name for name in _SCHEDULES if all(name in fit for fit in each)), OTHER_SCHEDULE)
        for each in per_step["fits"].to_list()
    ]
    return max(sorted(set(votes)), key=votes.count) if votes else None


_SCHEDULES = (
    "1F1B", "GPipe", "forward only", "interleaved 1F1B", "looped breadth-first", "zero bubble",
)  # fmt: skip
"""In the order in which they are named where several fit: one microbatch is both 1F1B and GPipe."""


def _fits(order: str, stage: int, stages: int, chunks: int) -> list[str]:
    """The schedules in which a stage may have this order of passes."""
    count = order.count("F")
    if set(order) == {"F"}:
        return ["forward only"]
    if "W" in order or "I" in order:
        return ["zero bubble"]
    all_first = order == "F" * count + "B" * count
    if chunks > 1:
        is_warm_up = warm_up_passes(stage, stages, chunks) >= count
        names = ["interleaved 1F1B"] if is_warm_up or not all_first else []
        return names + (["looped breadth-first"] if all_first else [])
    warm = min(count, stages - stage - 1)
    one_each = "F" * warm + "FB" * (count - warm) + "B" * warm
    names = ["1F1B"] if order == one_each else []
    return names + (["GPipe"] if all_first else [])
