"""What the calls in each process group are: the evidence for its dimension beside its name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.records import EXCHANGE, PAIRWISE, records
from torch_tb_profiler.analysis.parallel.groups import unnamed_group
from torch_tb_profiler.analysis.recording.step_work import EXPERT, step_work
from torch_tb_profiler.trace.model import Trace

TRAFFIC = pl.Schema(
    {
        "group_key": pl.String(),
        "calls": pl.Int64(),  # that move data, of all ranks
        "peer_to_peer": pl.Int64(),  # calls of each kind
        "all_to_all": pl.Int64(),
        "expert_kernels": pl.Int64(),  # dispatch and combine
        "all_reduce": pl.Int64(),
        "all_gather": pl.Int64(),
        "reduce_scatter": pl.Int64(),
        "all_reduces_per_step": pl.Float64(),  # of one rank
        "same_size": pl.Int64(),  # all-reduces of the commonest size
        "sized_all_reduces": pl.Int64(),
        "all_to_all_steps": pl.Int64(),  # steps of ranks with all-to-alls
        "all_to_all_sizes": pl.Int64(),  # different sizes in each of them, added up
        "gathered_bytes": pl.List(pl.Int64()),  # different inputs of all-gathers
        "reduced_bytes": pl.List(pl.Int64()),  # and of all-reduces
        "largest_bytes": pl.Int64(),  # input of a call; null where none is known
        "scatters_per_step": pl.Float64(),  # reduce-scatters of one rank
        "longest_run": pl.Int64(),  # all-gathers, or reduce-scatters, in a row on one rank
        "pairs": pl.List(pl.String),  # "0->1" of sends and receives, where known
    }
)
"""One row per process group with calls."""


def group_traffic(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The traffic of each group as :data:`TRAFFIC`, over all recordings."""
    frames = [records(trace).frame for trace in traces.values()]
    heights = [frame.height for frame in frames]
    worker = np.repeat(np.arange(len(frames)), heights)
    keys = ("group_key", "collective", "input_bytes", "step", "pair")
    unnamed = pl.lit(unnamed_group(traces), pl.String)
    # All at once: a call of polars for each of thousands of ranks takes longer than the rest.
    calls = (
        pl.concat(frames)
        .select(keys)
        .with_columns(pl.col("group_key").fill_null(unnamed), worker=worker)
    )
    kind = pl.col("collective")
    reduces, scatters = kind == "all_reduce", kind == "reduce_scatter"
    exchanges = kind == "all_to_all"
    size = pl.col("input_bytes")
    rows = (
        calls.filter(kind.is_not_null() & ~kind.is_in(["barrier", "init", "wait"]))
        .group_by("group_key", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            kind.is_in([*PAIRWISE, EXCHANGE]).sum().alias("peer_to_peer"),
            exchanges.sum().alias("all_to_all"),
            kind.is_in(["dispatch", "combine"]).sum().alias("expert_kernels"),
            reduces.sum().alias("all_reduce"),
            (kind == "all_gather").sum().alias("all_gather"),
            scatters.sum().alias("reduce_scatter"),
            (reduces.sum() / pl.struct("worker", "step").filter(reduces).n_unique()).alias(
                "all_reduces_per_step"
            ),
            size.filter(reduces).drop_nulls().unique_counts().max().alias("same_size"),
            size.filter(reduces).count().alias("sized_all_reduces"),
            pl.struct("worker", "step").filter(exchanges).n_unique().alias("all_to_all_steps"),
            pl.struct("worker", "step", size)
            .filter(exchanges)
            .n_unique()
            .alias("all_to_all_sizes"),
            size.filter(kind == "all_gather").drop_nulls().unique().sort().alias("gathered_bytes"),
            size.filter(reduces).drop_nulls().unique().sort().alias("reduced_bytes"),
            size.max().alias("largest_bytes"),
            (scatters.sum() / pl.struct("worker", "step").filter(scatters).n_unique()).alias(
                "scatters_per_step"
            ),
            pl.col("pair").drop_nulls().unique().sort().alias("pairs"),
        )
    )
    rows = rows.join(
        _runs(calls), on="group_key", how="left", nulls_equal=True, maintain_order="left"
    )
    return rows.select(pl.col(key).cast(dtype) for key, dtype in TRAFFIC.items())


def runs_expert_kernels(traces: Mapping[str, Trace]) -> bool:
    """Whether any rank runs kernels that compute with experts."""
    limits = [step_work(trace)["limit"] for trace in traces.values()]
    return bool(limits) and bool((pl.concat(limits) == EXPERT).any())


def _runs(calls: pl.DataFrame) -> pl.DataFrame:
    """``longest_run`` of each group with all-gathers or reduce-scatters.

    Args:
        calls: Of all ranks, those of one in order.
    """
    run = pl.struct("group_key", "worker", "collective").rle_id()
    return (
        calls.filter(pl.col("collective").is_in(["all_gather", "reduce_scatter"]))
        .sort("group_key", "worker", maintain_order=True)
        .group_by("group_key", run.alias("run"))
        .len("longest_run")
        .group_by("group_key")
        .agg(pl.col("longest_run").max())
    )
