"""Offsets between clocks from events that end at one moment on several of them.

Two clocks that saw common ends differ by the median of the differences; how far these scatter says
how certain it is. Clocks without a common end are compared along the chain of others between them
that is most certain. All of it is linear in the ends: of an event with *n* clocks, *n* - 1 pairs
are formed with its first clock, not all pairs.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec import Struct

SIGMA_PER_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""

MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median over that of a mean of the same normal values: √(π / 2)."""

FEWEST_IN_THIRD, MANY_IN_THIRD = 2, 4
"""Of fewer ends in a third of a recording no drift is taken; of many their scatter is known."""

STEEP_SIGMAS = 4.0
"""With many ends a drift is taken where it is so many standard errors: by chance in one of 16,000
clocks."""

DRIFT_GAIN = 5.0
"""With few ends it is taken where the scatter about the line is so much smaller than without it."""

FEW = 3
"""Of fewer differences the scatter says nothing: that of the other pairs is taken."""

PAIRS = {
    "first": pl.Int64,  # clock with the lower number
    "second": pl.Int64,
    "offset_ns": pl.Float64,  # time of the first minus time of the second, at ``pivot_ns``
    "drift": pl.Float64,  # what that grows by per unit of time; 0 where it is not significant
    "pivot_ns": pl.Float64,  # median time of the ends, on the clock of the first
    "count": pl.Int64,  # common ends
    "sigma_ns": pl.Float64,  # standard deviation of one difference (est.); null: of too few
    "bias_ns": pl.Float64,  # how far all of them may be off together
}
"""One row per pair of clocks that are compared directly."""


class _Pair(NamedTuple):
    """A pair as seen from one of its clocks, on which ``pivot_ns`` is; ``ends`` are counted."""

    other: int
    offset_ns: float
    drift: float
    pivot_ns: float
    ends: int
    is_vague: int
    variance: float


class Offset(Struct, frozen=True):
    """How one clock differs from the reference.

    Attributes:
        offset_ns: What to add to its times to get times of the reference, at ``pivot_ns``.
        drift: What that grows by per unit of time; 0 where it is not significant.
        pivot_ns: A moment in the middle, on its own clock.
        count: Ends that the comparison rests on: of a chain, those of its weakest pair.
        hops: Pairs in the chain: 0 for the reference itself, 1 where both saw common ends.
        uncertainty_ns: Standard error (est.); None where too few ends give none.
    """

    offset_ns: float
    drift: float
    pivot_ns: float
    count: int
    hops: int
    uncertainty_ns: float | None

    def at(self, time_ns: float) -> float:
        """What to add to a time of this clock."""
        return self.offset_ns + self.drift * (time_ns - self.pivot_ns)


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
        at_ns=pl.when(swapped).then("end_ns").otherwise("hub_ns").cast(pl.Float64),
        delta=pl.when(swapped).then(-delta).otherwise(delta).cast(pl.Float64),
    ).unique(["match", "first", "second"])
    return _summed(pairs)


def _summed(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per pair from one per pair and event: ``at_ns`` on the first clock and ``delta``."""
    key = ("first", "second")
    pairs = pairs.sort(*key, "at_ns").with_columns(
        third=3 * pl.int_range(pl.len()).over(key) // pl.len().over(key)
    )
    pairs = pairs.join(_slopes(pairs), on=key, how="left", maintain_order="left").with_columns(
        line=pl.col("delta") - pl.col("slope") * (pl.col("at_ns") - pl.col("pivot_ns"))
    )
    is_drift = pl.col("is_steep") | (DRIFT_GAIN * _scatter("line") < _scatter("delta"))
    return (
        pairs.group_by(key)
        .agg(
            pl.col("slope", "pivot_ns").first(),
            is_drift=is_drift.first(),
            levels=pl.col("line"),
            plain=pl.col("delta"),
            count=pl.len().cast(pl.Int64),
        )
        .with_columns(
            drift=pl.when("is_drift").then("slope").otherwise(0.0),
            levels=pl.when("is_drift").then("levels").otherwise("plain"),
        )
        .explode("levels")
        .group_by(key)
        .agg(
            pl.col("drift", "pivot_ns", "count").first(),
            offset_ns=pl.col("levels").median(),
            sigma_ns=pl.when(pl.len() >= FEW).then(_scatter("levels")),
            bias_ns=pl.lit(0.0),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in PAIRS.items())
        .sort(key)
    )


def _scatter(column: str) -> pl.Expr:
    """Standard deviation (est.), which few outliers do not affect."""
    value = pl.col(column)
    return (value - value.median()).abs().median() * SIGMA_PER_MAD


def _slopes(pairs: pl.DataFrame) -> pl.DataFrame:
    """Per pair ``pivot_ns``, the median time, and ``slope`` between the medians of the first and
    the last third of its ends; ``is_steep`` where it is many standard errors."""
    key = ("first", "second")
    thirds = pairs.group_by(*key, "third").agg(
        pl.col("at_ns", "delta").median(), pl.len(), scatter=_scatter("delta").clip(1.0)
    )
    first, last = (thirds.filter(third=each).drop("third") for each in (0, 2))
    rise = pl.col("delta_last") - pl.col("delta")
    variance = pl.col("scatter") ** 2 / pl.col("len")
    variance_last = pl.col("scatter_last") ** 2 / pl.col("len_last")
    error = MEDIAN_EFFICIENCY * (variance + variance_last).sqrt()
    slope = rise / (pl.col("at_ns_last") - pl.col("at_ns"))
    slopes = first.join(last, on=key, suffix="_last").select(
        *key,
        slope=pl.when((pl.col("len") >= FEWEST_IN_THIRD) & slope.is_finite()).then(slope),
        is_steep=(pl.col("len") >= MANY_IN_THIRD) & (rise.abs() > STEEP_SIGMAS * error),
    )
    pivots = pairs.group_by(key).agg(pivot_ns=pl.col("at_ns").median())
    return pivots.join(slopes, on=key, how="left").with_columns(
        pl.col("slope").fill_null(0.0), pl.col("is_steep").fill_null(value=False)
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
    for first, second, offset_ns, drift, pivot_ns, count, sigma_ns, bias_ns in pairs.iter_rows():
        sigma = typical if sigma_ns is None else sigma_ns
        is_vague = int(sigma is None)
        variance = _variance(count, sigma) + bias_ns**2
        there_ns = pivot_ns - offset_ns
        neighbours.setdefault(first, []).append(
            _Pair(second, offset_ns, drift, pivot_ns, count, is_vague, variance)
        )
        neighbours.setdefault(second, []).append(
            _Pair(first, -offset_ns, -drift, there_ns, count, is_vague, variance)
        )
    own = sorted(pair.pivot_ns for pair in neighbours.get(reference, ()))
    start = Offset(0.0, 0.0, own[len(own) // 2] if own else 0.0, 0, 0, 0.0)
    # Of chains that are equally certain the shortest.
    queue: list[tuple[int, float, int, int, int, Offset]] = [(0, 0.0, 0, reference, 0, start)]
    pushed = itertools.count(1)
    offsets: dict[int, Offset] = {}
    while queue:
        vague, variance, hops, clock, _, offset = heapq.heappop(queue)
        if clock in offsets:
            continue
        offsets[clock] = offset
        for pair in neighbours.get(clock, ()):
            if pair.other not in offsets:
                key = (vague + pair.is_vague, variance + pair.variance, hops + 1, pair.other)
                # Equal keys are distinguished by their order, as offsets have none.
                heapq.heappush(queue, (*key, next(pushed), _next(offset, pair, key)))
    return offsets


def _next(offset: Offset, pair: _Pair, key: tuple[int, float, int, int]) -> Offset:
    """The other clock of a pair, from that of which the offset is known."""
    vague, variance, hops, _ = key
    step_ns = pair.offset_ns + pair.drift * (offset.pivot_ns - pair.pivot_ns)
    return Offset(
        offset_ns=offset.offset_ns + step_ns,
        drift=offset.drift + pair.drift,
        pivot_ns=offset.pivot_ns - step_ns,
        count=min(offset.count, pair.ends) if offset.hops else pair.ends,
        hops=hops,
        uncertainty_ns=None if vague else math.sqrt(variance),
    )


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
    first = rows["first"].to_list()
    second = rows["second"].to_list()
    at_ns = rows["pivot_ns"].to_numpy()
    there_ns = at_ns - rows["offset_ns"].to_numpy()
    ahead = np.array([offsets[clock].at(time) for clock, time in zip(first, at_ns, strict=True)])
    behind = np.array(
        [offsets[clock].at(time) for clock, time in zip(second, there_ns, strict=True)]
    )
    # offset_ns is first - second at one moment: second + offset = first.
    error = np.abs(behind - ahead - rows["offset_ns"].to_numpy())
    ends = pl.concat(
        [pl.DataFrame({"clock": rows[name], "error": error}) for name in ("first", "second")]
    )
    return dict(ends.group_by("clock").agg(pl.col("error").median()).iter_rows())
