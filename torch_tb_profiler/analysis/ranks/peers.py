"""Which ranks do the same work, and what is usual among them.

A rank is compared with those of its pipeline stage and tensor and context index: they run the same
program on other data. Where these are too few it is compared with its stage, then with all ranks;
where the job's division is unknown, with the ranks that call the same collectives and kernels.

What is usual is the lower quartile: a fault makes ranks slower, and may strike a whole node or
switch, half of the ranks. How far ranks differ for no reason is told by the lower half too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.analysis.parallel.dimensions import group_dimensions
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.model import Trace

LEAST = 3
"""Of two ranks that differ either may be the usual one."""
_LOW, _HIGH = 10, 40
_NORMAL_RANGE = 1.0282
"""Distance of these percentiles of a normal distribution, in standard deviations."""


class Peers(Struct, frozen=True, eq=False):
    """How ranks are compared.

    Attributes:
        group: Per rank the number of the group it is compared within.
        coordinates: As :func:`~torch_tb_profiler.analysis.parallel.coordinates.rank_coordinates`.
        is_comparable: Per rank whether its peers have the same work: they are of its stage.
    """

    group: Int64
    coordinates: pl.DataFrame
    is_comparable: Bools

    def usual(self, values: Float64) -> Float64:
        """What is usual among the peers of each rank: the lower quartile, ``[ranks, …]``."""
        usual = np.full_like(values, np.nan)
        for number in range(int(self.group.max()) + 1):
            members = self.group == number
            usual[members] = lower_quartile(values[members])
        return usual


def lower_quartile(values: Float64) -> Float64:
    """Of the first axis, without NaN; NaN where all are. A value that occurs, not one between."""
    ordered = np.sort(values, axis=0)  # NaN last
    known = np.sum(~np.isnan(ordered), axis=0)
    row = np.maximum(known - 1, 0) // 4
    quartile: Float64 = np.take_along_axis(ordered, row[None], axis=0)[0]
    return quartile


def spread(values: Float64) -> float:
    """Standard deviation of the lower half of some values, as of a normal distribution."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return 0.0
    low, high = np.percentile(known, (_LOW, _HIGH))
    return float(high - low) / _NORMAL_RANGE


def unsteadiness(values: Float64) -> float:
    """How far a usual rank differs from step to step: the standard deviation of its ``[ranks,
    steps]`` that two fifths of the ranks do not exceed."""
    return float(np.percentile(values.std(axis=1), _HIGH))


def peers_of(traces: Mapping[str, Trace], given: str | None = None) -> Peers:
    """How the ranks of a job are compared; ``given``: its strategy as people give it."""
    coordinates = rank_coordinates(traces, given)
    alike = _alike(traces)
    where = [
        coordinates[axis].fill_null(-1).to_numpy().astype(np.int64)
        for axis in ("pipeline", "tensor", "context")
    ]
    group = alike
    for candidates in _with_more(alike, where):
        enough = _sizes(candidates) >= LEAST
        group = np.where(enough, candidates + len(alike) * (1 + int(group.max())), group)
    group = _dense(group)
    stages = _dense_rows(group, where[0])
    return Peers(group, coordinates, (_sizes(group) == _sizes(stages)) & (_sizes(group) > 1))


def with_replicas(coordinates: pl.DataFrame, traces: Mapping[str, Trace]) -> pl.DataFrame:
    """``coordinates`` with ``replica``: the number of the ranks that share a sample (those of one
    pipeline and its tensor and context groups), ``chain`` (those of one pipeline alone), and
    ``exchange`` (those that exchange tokens of experts); null where the job has no such groups."""
    groups = group_dimensions(traces)
    return coordinates.with_columns(
        replica=_connected(groups, coordinates["rank"], ("pipeline", "tensor", "context")),
        chain=_connected(groups, coordinates["rank"], ("pipeline",)),
        exchange=_connected(groups, coordinates["rank"], ("expert",)),
    )


def _connected(groups: pl.DataFrame, ranks: pl.Series, dimensions: tuple[str, ...]) -> pl.Series:
    """Per rank the number of the ranks that groups of some dimensions connect with it."""
    shared = groups.filter(pl.col("dimension").is_in(dimensions))
    positions = pl.DataFrame({"ranks": ranks, "position": np.arange(len(ranks))}).drop_nulls()
    members = (
        shared.select("ranks")
        .with_row_index("group")
        .explode("ranks")
        .join(positions, on="ranks")
        .select("group", "position")
    )
    if members.is_empty():
        return pl.Series([None] * len(ranks), dtype=pl.Int64)
    group, position = members["group"].to_numpy(), members["position"].to_numpy()
    replica = np.arange(len(ranks))
    while True:
        lowest = np.full(int(group.max()) + 1, len(ranks))
        np.minimum.at(lowest, group, replica[position])
        joined = replica.copy()
        np.minimum.at(joined, position, lowest[group])
        if np.array_equal(joined, replica):
            return pl.Series(replica)
        replica = joined


def _with_more(alike: Int64, where: list[Int64]) -> list[Int64]:
    """Finer and finer groups: by stage, by tensor and context index as well."""
    stage, tensor, context = where
    by_stage = _dense_rows(stage, alike)
    return [by_stage, _dense_rows(by_stage, tensor, context)]


def _alike(traces: Mapping[str, Trace]) -> Int64:
    """Ranks by the kinds of their collectives."""
    frames = [records(trace).frame for trace in traces.values()]
    worker = np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    # Numbers of calls differ at the edges of a recording; whether there are any does not.
    kinds = (
        pl.concat(frames)
        .select("collective", "group_size", worker=worker)
        .unique()
        .sort("worker", "collective", "group_size")
    )
    signatures: list[list[object]] = [[] for _ in frames]
    for collective, size, number in kinds.iter_rows():
        signatures[number].append((collective, size))
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(tuple(each), len(numbers)) for each in signatures])


def _sizes(group: Int64) -> Int64:
    return np.bincount(group)[group]


def _dense(group: Int64) -> Int64:
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _dense_rows(*columns: Int64) -> Int64:
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def is_outlier(values: Float64, least: float, deviations: float) -> Bools:
    """Which values exceed what is usual (0) by more than ``least`` and by more than so many
    standard deviations of the lower half."""
    return values > max(least, deviations * spread(values))
