"""Transfers that are longer because some ranks have more to do: more tokens are more to send."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.peers import Peers
from torch_tb_profiler.trace.columns import Int64

_UNIT = ("group_key", "pair")
_CLASS = (
    "collective_name", "group_size", "dtype", "is_pair", "first_peers", "last_peers", "step",
)  # fmt: skip
"""Groups (pairs) that send equally much in a step: of the same peers, of which
:class:`~torch_tb_profiler.analysis.ranks.peers.Peers` knows."""


def larger_transfers(job: RankJob, peers: Peers, ranks: Int64) -> pl.DataFrame:
    """The collectives of some ranks that move more data than usual: ``collective``,
    ``transfer_ns``, ``usual_ns``.

    What is usual is the lower quartile of what groups without any of the ranks move in the step.
    Where each group has one of them, as of an expert, it is what the largest other member moves:
    the size of a call is the larger of what a rank sends and receives, and who receives less than
    usual sends as much. A transfer gets shorter in proportion.

    Args:
        job: The job.
        peers: Which ranks do the same work.
        ranks: Positions of the ranks with more to do.
    """
    calls = job.calls.filter(pl.col("transfer_ns") > 0, ~pl.col("sizes").list.contains(None))
    calls = calls.with_row_index("row").with_columns(
        is_pair=pl.col("pair").is_not_null(),
        largest=pl.col("sizes").list.max(),
        first_peers=_peers_of(peers, calls["members"].list.min()),
        last_peers=_peers_of(peers, calls["members"].list.max()),
    )
    members = calls.select("row", "members", "sizes").explode("members", "sizes")
    struck = pl.col("members").is_in(ranks)
    inside = members.group_by("row").agg(
        struck.any().alias("is_struck"),
        pl.col("sizes").filter(~struck).max().alias("others_largest"),
    )
    calls = calls.join(inside, on="row", maintain_order="left")
    by_unit = calls.group_by(*_CLASS, *_UNIT).agg(
        pl.col("largest").sum().alias("moved"), pl.col("is_struck").any().alias("has_struck")
    )
    usual = (
        by_unit.filter(~pl.col("has_struck"))
        .group_by(*_CLASS)
        .agg(pl.col("moved").quantile(0.25, "lower").alias("usual"))
    )
    calls = (
        calls.filter("is_struck")
        .join(by_unit, on=[*_CLASS, *_UNIT], nulls_equal=True, how="left", maintain_order="left")
        .join(usual, on=_CLASS, nulls_equal=True, how="left", maintain_order="left")
    )
    divided = pl.col("others_largest") / pl.col("largest")
    share = pl.coalesce(pl.col("usual") / pl.col("moved"), divided).fill_nan(None).fill_null(1.0)
    return calls.select(
        "collective", "transfer_ns", usual_ns=pl.col("transfer_ns") * share.clip(0.0, 1.0)
    ).filter(pl.col("usual_ns") < pl.col("transfer_ns"))


def _peers_of(peers: Peers, positions: pl.Series) -> pl.Series:
    return pl.Series(np.asarray(peers.group)[positions.to_numpy()])
