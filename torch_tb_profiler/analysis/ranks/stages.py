"""A stage of a pipeline that has more to do than the others.

Stages are compared by the work that is of the same kinds in most of them: the first and the last
have an embedding and a loss besides, which is how models are.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.pace import CONSISTENT, Pace
from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Float64, Int64


class StageExcess(Struct, frozen=True, eq=False):
    """The stage with most work.

    Attributes:
        stage: Its number.
        second: The stage with most work after it.
        ranks: Positions of its ranks.
        more_pct: How much more than that one it has.
        excess_ns: What its ranks compute longer for it, ``[ranks, steps]``.
    """

    stage: int
    second: int
    ranks: Int64
    more_pct: float
    excess_ns: Float64


def stage_excess(job: RankJob, stage: pl.Series, speeds: Pace) -> StageExcess | None:
    """The stage with most work, if it has clearly more than every other; else None.

    Args:
        job: The job.
        stage: Per rank its stage, null where it is unknown.
        speeds: The pace of its ranks.
    """
    if stage.null_count() or stage.n_unique() < 2:
        return None
    numbers = stage.to_numpy().astype(np.int64)
    stages, work = speeds.work_of_groups(numbers)
    sizes = _relative_sizes(stages, work)
    order = np.argsort(-sizes, kind="stable")
    most, second = float(sizes[order[0]]), float(sizes[order[1]])
    if second <= 0 or (most / second - 1) * 100 < rank_causes_file().limits.stage_pct:
        return None
    ranks = np.flatnonzero(numbers == stages[order[0]])
    excess_ns = np.zeros_like(job.duration_ns)
    layers_ns = float(work.filter(pl.col("group") == stages[order[0]])["work"].sum())
    share = 1 - second / most
    of_all = np.minimum(layers_ns / np.maximum(speeds.work_ns[ranks], 1.0), 1.0)
    computation = np.nan_to_num(job.own_ns["computation"][ranks])
    # Work that differs from call to call (experts) is of no common kind: what the next stage
    # computes shows it, as far as it can follow from the layers.
    next_ns = np.nanmedian(job.own_ns["computation"][numbers == stages[order[1]]], axis=0)
    longer = np.maximum(computation - np.nan_to_num(next_ns), computation * of_all * share)
    excess_ns[ranks] = np.minimum(longer, computation * share)
    return StageExcess(
        int(stages[order[0]]), int(stages[order[1]]), ranks, (most / second - 1) * 100, excess_ns
    )


def _relative_sizes(stages: Int64, work: pl.DataFrame) -> Float64:
    """How large each stage is beside the others: a stage with more layers has more of nearly all
    kinds of work, one with a loss more of some. So the lower quartile, by work, of its ratios to
    the median stage."""
    ratios = (
        work.with_columns(usual=pl.col("work").median().over("kind"))
        .filter(pl.col("usual") > 0)
        .with_columns(ratio=pl.col("work") / pl.col("usual"))
        .sort("group", "ratio")
        .with_columns(share=(pl.col("usual").cum_sum() / pl.col("usual").sum()).over("group"))
        .filter(pl.col("share") >= CONSISTENT)
        .group_by("group")
        .agg(pl.col("ratio").first())
    )
    by_stage = dict(ratios.iter_rows())
    return np.array([by_stage.get(number, 0.0) for number in stages.tolist()])
