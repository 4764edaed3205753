"""Where each rank stands in the parallel strategy: its index within every dimension."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.parallel.dimensions import group_dimensions, job_size
from torch_tb_profiler.analysis.parallel.layout import DATA, EXPERT, parse_layout
from torch_tb_profiler.analysis.parallel.recorded import recorded_stages
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

AXES = ("pipeline", "data", "context", "expert", "tensor")
"""The dimensions that have a coordinate, the outermost first. Replicas and the shards of a sharded
model are one: both are data parallel."""

COORDINATES = pl.Schema(
    {
        "worker": pl.String,
        "rank": pl.Int64,  # null where not recorded
        **dict.fromkeys(
            AXES, pl.Int32
        ),  # null where the job has no such dimension, or it is unknown
    }
)
"""One row per worker, in the order of the traces."""


def rank_coordinates(
    traces: Mapping[str, Trace], given: str | None = None, groups: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The index of each rank within the dimensions of its job, as :data:`COORDINATES`.

    Args:
        traces: The recordings of the job, or their summaries.
        given: The strategy as people give it (:mod:`torch_tb_profiler.analysis.parallel.layout`).
        groups: The dimension of each group, where it is computed already (``group_dimensions``).

    Raises:
        SelectionError: ``given`` is no strategy, or does not fit the world size.
    """
    parts = programs(traces).parts(traces) if groups is None else []
    if len(parts) > 1:
        frame = pl.concat([_of_program(part, given, None) for part in parts])
        return pl.DataFrame({"worker": list(traces)}).join(
            frame, on="worker", maintain_order="left"
        )
    return _of_program(traces, given, groups)


def _of_program(
    traces: Mapping[str, Trace], given: str | None, groups: pl.DataFrame | None
) -> pl.DataFrame:
    ranks = pl.Series("rank", [own_rank(trace) for trace in traces.values()], pl.Int64)
    base = pl.DataFrame(
        {"worker": list(traces), "rank": ranks}, schema_overrides={"worker": pl.String}
    )
    if given and given.strip():
        indices = _from_layout(given, job_size(traces), ranks)
    else:
        indices = _from_groups(group_dimensions(traces) if groups is None else groups, ranks)
        stages = recorded_stages(traces)
        if "pipeline" not in indices and stages is not None:
            indices["pipeline"] = stages
    frame = base.with_columns(
        indices.get(axis, pl.Series(axis, [None] * len(ranks), pl.Int32)).alias(axis)
        for axis in AXES
    )
    return frame.select(pl.col(key).cast(dtype) for key, dtype in COORDINATES.items())


def _from_layout(given: str, job_ranks: int | None, ranks: pl.Series) -> dict[str, pl.Series]:
    layout = parse_layout(given, job_ranks)
    known = ranks.is_not_null()
    values = ranks.fill_null(0).to_numpy()
    names = {"pipeline": ("pp",), "data": DATA, "context": ("cp",), "tensor": ("tp",)}
    indices = {axis: layout.index(names[axis], values) for axis in names if layout.has(names[axis])}
    if layout.has((EXPERT,)):
        indices["expert"] = layout.expert_index(values)
    return {axis: _where(known, index) for axis, index in indices.items()}


def _where(known: pl.Series, values: Int64) -> pl.Series:
    return pl.select(pl.when(known).then(pl.Series(values))).to_series()


def _from_groups(groups: pl.DataFrame, ranks: pl.Series) -> dict[str, pl.Series]:
    """The positions of ranks among the members of their groups."""
    members = (
        groups.filter(pl.col("is_axis") & (pl.col("size") > 1) & pl.col("ranks").is_not_null())
        .with_columns(position=pl.int_ranges(pl.col("ranks").list.len()))
        .select("dimension", "size", "position", rank="ranks")
        .explode("rank", "position")
        # A rank may be in several groups of a dimension: the largest is the whole of it.
        .sort("size", descending=True, maintain_order=True)
        .unique(["dimension", "rank"], keep="first", maintain_order=True)
    )
    by_dimension = {
        str(name): part for (name,), part in members.group_by("dimension", maintain_order=True)
    }
    positions = {name: _positions(part, ranks) for name, part in by_dimension.items()}
    sizes = {name: int(np.max(part["size"].to_numpy())) for name, part in by_dimension.items()}
    sharded = positions.pop("sharded", None)
    if sharded is not None:
        replica = positions.get("data")
        positions["data"] = sharded if replica is None else replica * sizes["sharded"] + sharded
    return positions


def _positions(members: pl.DataFrame, ranks: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"rank": ranks})
    return frame.join(members, on="rank", how="left", maintain_order="left")["position"]
