"""Offsets between clocks from events that end at one moment on several of them.

Two clocks that saw common ends differ by the median of the differences; how far these scatter says
how certain it is. Clocks without a common end are compared along the chain of others between them
that is most certain. All of it is linear in the ends: of an event with *n* clocks, *n* - 1 pairs
are formed with its first clock, not all pairs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

import numpy as np
import polars as pl
from msgspec import Struct

SIGMA_PER_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""

MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median over that of a mean of the same normal values: √(π / 2)."""

FEW = 3
"""Of fewer differences the scatter says nothing: that of the other pairs is taken."""

PAIRS = {
    "first": pl.Int64,  # clock with the lower number
    "second": pl.Int64,
    "offset_ns": pl.Float64,  # time of the first minus time of the second, at one moment
    "count": pl.Int64,  # common ends
    "sigma_ns": pl.Float64,  # standard deviation of one difference (est.); null: of too few
    "bias_ns": pl.Float64,  # how far all of them may be off together
}
"""One row per pair of clocks that are compared directly."""


_Pair = tuple[int, float, int, int, float]
"""The other clock, offset, common ends, whether their scatter is unknown, variance."""


class Offset(Struct, frozen=True):
    """How one clock differs from the reference.

    Attributes:
        offset_ns: What to add to its times to get times of the reference.
        count: Ends that the comparison rests on: of a chain, those of its weakest pair.
        hops: Pairs in the chain: 0 for the reference itself, 1 where both saw common ends.
        uncertainty_ns: Standard error (est.); None where too few ends give none.
    """

    offset_ns: float
    count: int
    hops: int
    uncertainty_ns: float | None


def pair_offsets(ends: pl.DataFrame, reference: int | None = None) -> pl.DataFrame:
    """Pairs of clocks with common ends, as :data:`PAIRS`.

    Args:
        ends: One row per clock and event: ``worker``, ``match`` and ``end_ns``.
        reference: This clock is compared with every clock it shares an event with.
    """
    ends = ends.select("worker", "match", "end_ns")
    lowest = ends.sort("match", "worker").group_by("match", maintain_order=True).first()
    hubs = [lowest]
    if reference is not None:
        hubs.append(ends.filter(pl.col("worker") == reference))
    hub = pl.concat([each.select(pl.all().exclude("worker"), hub="worker") for each in hubs])
    hub = hub.unique(["match", "hub"]).rename({"end_ns": "hub_ns"})
    pairs = ends.join(hub, on="match").filter(pl.col("worker") != pl.col("hub"))
    swapped = pl.col("worker") < pl.col("hub")
    delta = pl.col("hub_ns") - pl.col("end_ns")
    pairs = pairs.select(
        "match",
        first=pl.min_horizontal("worker", "hub").cast(pl.Int64),
        second=pl.max_horizontal("worker", "hub").cast(pl.Int64),
        delta=pl.when(swapped).then(-delta).otherwise(delta),
    ).unique(["match", "first", "second"])
    key = ("first", "second")
    scatter = (pl.col("delta") - pl.col("delta").median()).abs().median() * SIGMA_PER_MAD
    return (
        pairs.group_by(key)
        .agg(
            offset_ns=pl.col("delta").median(),
            count=pl.len().cast(pl.Int64),
            sigma_ns=pl.when(pl.len() >= FEW).then(scatter),
            bias_ns=pl.lit(0.0),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in PAIRS.items())
        .sort(key)
    )


def typical_sigma(pairs: pl.DataFrame) -> float | None:
    """The median scatter of the pairs that have one, in ns; None where none has."""
    value = pairs.filter(pl.col("bias_ns") == 0)["sigma_ns"].median()
    return float(value) if isinstance(value, int | float) else None


def offsets_from(pairs: pl.DataFrame, reference: int) -> dict[int, Offset]:
    """Every clock that is connected with the reference, along the most certain chain.

    Args:
        pairs: As :data:`PAIRS`.
        reference: The clock whose times are wanted.
    """
    typical = typical_sigma(pairs)
    neighbours: dict[int, list[_Pair]] = {}
    for first, second, offset_ns, count, sigma_ns, bias_ns in pairs.iter_rows():
        sigma = typical if sigma_ns is None else sigma_ns
        is_vague = int(sigma is None)
        variance = _variance(count, sigma) + bias_ns**2
        neighbours.setdefault(first, []).append((second, offset_ns, count, is_vague, variance))
        neighbours.setdefault(second, []).append((first, -offset_ns, count, is_vague, variance))
    # Of chains that are equally certain the shortest.
    queue: list[tuple[int, float, int, int, float, int]] = [(0, 0.0, 0, reference, 0.0, 0)]
    offsets: dict[int, Offset] = {}
    while queue:
        vague, variance, hops, clock, offset_ns, count = heapq.heappop(queue)
        if clock in offsets:
            continue
        offsets[clock] = Offset(offset_ns, count, hops, None if vague else math.sqrt(variance))
        for other, step_ns, ends, is_vague, added in neighbours.get(clock, ()):
            if other not in offsets:
                reached = (vague + is_vague, variance + added, hops + 1, other)
                weakest = min(count, ends) if hops else ends
                heapq.heappush(queue, (*reached, offset_ns + step_ns, weakest))
    return offsets


def _variance(count: int, sigma_ns: float | None) -> float:
    """Of the median of ``count`` differences, in ns²; times are not read finer than 1 ns."""
    return (MEDIAN_EFFICIENCY * max(sigma_ns or 1.0, 1.0)) ** 2 / count


def components(pairs: pl.DataFrame, clocks: Iterable[int]) -> dict[int, int]:
    """Per clock the lowest clock that it is connected with."""
    lowest = {clock: clock for clock in clocks}

    def root(clock: int) -> int:
        while lowest[clock] != clock:
            lowest[clock] = lowest[lowest[clock]]
            clock = lowest[clock]
        return clock

    for first, second in pairs.select("first", "second").iter_rows():
        low, high = sorted((root(first), root(second)))
        lowest[high] = low
    return {clock: root(clock) for clock in lowest}


def disagreement(pairs: pl.DataFrame, offsets: dict[int, Offset]) -> dict[int, float]:
    """Per clock, how far its directly measured differences are from the offsets: the median in ns
    over its pairs; 0 where every pair belongs to the chains."""
    rows = pairs.filter(
        pl.col("first").is_in(list(offsets)) & pl.col("second").is_in(list(offsets))
    )
    if rows.is_empty():
        return {}
    first, second = (
        np.array([offsets[clock].offset_ns for clock in rows[name].to_list()])
        for name in ("first", "second")
    )
    # offset_ns is first - second at one moment: second + offset = first.
    error = np.abs(second - first - rows["offset_ns"].to_numpy())
    ends = pl.concat(
        [pl.DataFrame({"clock": rows[name], "error": error}) for name in ("first", "second")]
    )
    return dict(ends.group_by("clock").agg(pl.col("error").median()).iter_rows())
