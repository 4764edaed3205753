"""Whether ranks compute longer because they are slower, or because they have more to do.

The same kernel with the same grid takes as long on every healthy device. A device is slow when
nearly all of its kernels take longer than the same ones elsewhere, or nearly all of those that its
clock limits. Kernels of experts are left out: how long they take follows from their input.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.recording.step_work import COMPUTE, EXPERT, HOST, step_work
from torch_tb_profiler.trace.columns import Float64, Int64

LEAST_RANKS = 2
"""A kind of kernel that fewer ranks ran says nothing of their pace."""
CONSISTENT = 0.25
"""A rank is as slow as the quartile of its kernels that is least slow."""


class Pace(Struct, frozen=True, eq=False):
    """Per rank and step, ``[ranks, steps]``, NaN where unknown.

    Attributes:
        slower: How many times as long as usual its kernels take, consistently.
        longer: How many times as long they take together.
        work_ns: What its kernels would take at the usual pace.
        common_ns: The part of it of the kinds that more than half of the peers have.
        varying_ns: Time of all other kinds, and of kernels of experts: it follows from data.
        is_host: The work is that of operators: there are no kernels.
        rows: The kinds of work: ``rank``, ``at`` (step), ``kind``, ``work`` (ns at usual pace),
            ``is_common`` (more than half of the peers have it).
    """

    slower: Float64
    longer: Float64
    work_ns: Float64
    common_ns: Float64
    varying_ns: Float64
    is_host: bool
    rows: pl.DataFrame

    def work_of_groups(self, group: Int64) -> tuple[Int64, pl.DataFrame]:
        """The numbers of groups of ranks; and per group and kind of work that is common in more
        than half of them (``group``, ``kind``) what a rank does of it per step, ``work``, ns."""
        numbers = np.unique(group)
        rows = self.rows.with_columns(group=pl.Series(group[self.rows["rank"].to_numpy()]))
        common = rows.filter((pl.col("kind") != 0) & pl.col("is_common")).filter(
            pl.col("group").n_unique().over("kind") * 2 > len(numbers)
        )
        by_rank = common.group_by("group", "kind", "rank", "at").agg(pl.col("work").sum())
        return numbers, by_rank.group_by("group", "kind").agg(pl.col("work").median())


def pace(job: RankJob, peers: Int64) -> Pace:
    """The pace of the ranks of a job; ``peers``: per rank the number of its group of peers."""
    frames = [step_work(trace) for trace in job.traces.values()]
    shape = job.duration_ns.shape
    rows = pl.concat(frames, rechunk=True)
    step = np.concatenate(
        [
            of_rank[frame["step"].to_numpy()]
            for of_rank, frame in zip(job.column, frames, strict=True)
        ]
    )
    rows = rows.with_columns(
        rank=np.repeat(np.arange(len(frames)), [frame.height for frame in frames]), at=step
    ).filter(pl.col("at") >= 0)
    rows = rows.with_columns(mean=pl.col("total_ns") / pl.col("calls"))
    usual = (
        rows.group_by("kind", "rank").agg(pl.col("mean").median())
        .group_by("kind")
        .agg(pl.col("mean").quantile(0.25, "lower").alias("usual"), pl.len().alias("ranks"))
    )  # fmt: skip
    rows = rows.join(usual, on="kind", how="left", maintain_order="left").with_columns(
        work=pl.col("usual") * pl.col("calls"),
        ratio=pl.col("mean") / pl.col("usual"),
        spent=pl.col("mean") * pl.col("calls"),
    )
    of_rank = pl.Series(peers[rows["rank"].to_numpy()])
    sizes = pl.Series(np.bincount(peers)[of_rank.to_numpy()])
    rows = rows.with_columns(peers=of_rank).with_columns(
        is_common=(pl.col("rank").n_unique().over("kind", "peers") * 2 > sizes)
        & (pl.col("limit") != EXPERT)
    )
    compared = rows.filter(
        (pl.col("kind") != 0) & (pl.col("ranks") >= LEAST_RANKS) & (pl.col("limit") != EXPERT)
        & (pl.col("usual") > 0)
    )  # fmt: skip
    everything = _consistent(compared, shape)
    by_clock = _consistent(compared.filter(pl.col("limit") == COMPUTE), shape)
    share = _summed(compared.filter(pl.col("limit") == COMPUTE), "work", shape) / np.maximum(
        _summed(compared, "work", shape), 1
    )
    # A lower clock slows the kernels it limits alone: what that is of all of them.
    clock_alone = 1 + (by_clock - 1) * share
    return Pace(
        np.fmax(everything, np.where(share > 0, clock_alone, np.nan)),
        _summed(compared, "spent", shape) / np.maximum(_summed(compared, "work", shape), 1),
        _summed(rows, "work", shape),
        _summed(rows.filter("is_common"), "work", shape),
        _summed(rows.filter(~pl.col("is_common")), "total_ns", shape),
        bool(rows["limit"].len() and (rows["limit"] == HOST).all()),
        rows.select("rank", "at", "kind", "work", "is_common"),
    )


def _summed(rows: pl.DataFrame, column: str, shape: tuple[int, ...]) -> Float64:
    matrix = np.zeros(shape)
    np.add.at(matrix, (rows["rank"].to_numpy(), rows["at"].to_numpy()), rows[column].to_numpy())
    return matrix


def _consistent(rows: pl.DataFrame, shape: tuple[int, ...]) -> Float64:
    """Per rank and step the ratio that all but a quarter of the work exceeds."""
    by_step = (
        rows.sort("rank", "at", "ratio")
        .with_columns(share=(pl.col("work").cum_sum() / pl.col("work").sum()).over("rank", "at"))
        .filter(pl.col("share") >= CONSISTENT)
        .group_by("rank", "at")
        .agg(pl.col("ratio").first())
    )
    matrix = np.full(shape, np.nan)
    matrix[by_step["rank"].to_numpy(), by_step["at"].to_numpy()] = by_step["ratio"].to_numpy()
    return matrix
