"""Which ranks of a job share the experts of a layer, and their coordinates in its strategy."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.experts.facts import expert_kernel_facts
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.analysis.parallel.dimensions import group_dimensions
from torch_tb_profiler.trace.model import Trace

EXPERT = "expert"


class ExpertSets(Struct, frozen=True, eq=False):
    """The sets of the ranks of a job.

    Attributes:
        workers: One row per worker: ``worker`` (name), ``set`` (ranks of one set hold the experts
            of a layer together), ``stage`` (of the pipeline) and ``index`` (among the ranks of the
            set), both null where unknown.
        exchange_groups: Keys of the process groups that exchange tokens, also where neither their
            names nor ranges say so.
    """

    workers: pl.DataFrame
    exchange_groups: frozenset[str]


def expert_sets(traces: Mapping[str, Trace], given: str | None = None) -> ExpertSets:
    """The sets of a job: the groups of its expert dimension; where no rank is in one, the groups in
    which it exchanges tokens, and else its stage of the pipeline.

    Args:
        traces: The recordings of the job, or their summaries.
        given: The parallel strategy as people give it.

    Raises:
        SelectionError: ``given`` is no strategy, or does not fit the world size.
    """
    dimensions = group_dimensions(traces, given).filter(pl.col("dimension") == EXPERT)
    coordinates = rank_coordinates(traces, given)
    of_rank = (
        dimensions.drop_nulls("ranks")
        .select("group_key", "size", rank="ranks")
        .explode("rank")
        # The largest group of a rank is the whole of the dimension.
        .sort("size", descending=True, nulls_last=True, maintain_order=True)
        .unique("rank", keep="first", maintain_order=True)
        .select("rank", "group_key")
    )
    by_group = dict(of_rank.iter_rows())
    own = {worker: own_rank(trace) for worker, trace in traces.items()}
    sets = [by_group.get(own[worker]) or _busiest_group(trace) for worker, trace in traces.items()]
    frame = coordinates.select(
        "worker",
        set=pl.coalesce(
            pl.Series(sets, dtype=pl.String),
            pl.format("stage {}", "pipeline"),
            pl.lit(""),
        ),
        stage="pipeline",
        index="expert",
    )
    return ExpertSets(frame, frozenset(dimensions["group_key"].drop_nulls().to_list()))


def _busiest_group(trace: Trace) -> str | None:
    """The group in which a rank exchanges tokens for the longest time; None where none is named."""
    named = expert_kernel_facts(trace).drop_nulls("group_key")
    longest = named.sort("total_ns", descending=True, maintain_order=True).head(1)
    return longest["group_key"].to_list()[0] if longest.height else None
