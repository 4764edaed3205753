"""Offsets between the clocks of a run's workers, from the ends of their common collectives.

A collective ends for all its members together (``analysis.communication.matching``); the median
over all of them is not affected by those whose end was recorded late. Workers without a common
collective are compared through those between them. Sends and receives say less (data cannot arrive
before it was sent) and are used only between workers that no collective connects.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.offsets import (
    FEW,
    PAIRS,
    components,
    disagreement,
    offsets_from,
    pair_offsets,
)
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.model import Trace


class ClockOffset(Struct, frozen=True):
    """How the clock of a worker differs from that of the reference.

    Attributes:
        offset_ns: Turns times of its trace into times of the reference's trace, when added; at
            ``pivot_ns``, a moment in the middle of its trace.
        drift_ppm: How much faster its clock falls behind: what ``offset_ns`` grows by, in µs per
            second; 0 where that is not significant.
        pivot_ns: See there.
        collectives: How many common collectives (or transfers) that rests on; of a chain of workers
            those of its weakest pair.
            Of the reference its own.
        hops: Pairs of workers in the chain: 0 of the reference itself, 1 where both have common
            collectives.
        uncertainty_ns: Standard error (est.), at least the disagreement with other chains; None
            where too few collectives give none.
    """

    offset_ns: int
    drift_ppm: float
    pivot_ns: int
    collectives: int
    hops: int
    uncertainty_ns: int | None


def clock_offsets(traces: Mapping[str, Trace], reference: str) -> dict[str, ClockOffset]:
    """By worker its clock against that of ``reference``; workers that nothing connects with it are
    left out."""
    matching = match(traces)
    number = matching.workers.index(reference)
    pairs = worker_pairs(matching, number)
    offsets = offsets_from(pairs, number)
    errors = disagreement(pairs, offsets)
    clocks = {}
    for row, offset in offsets.items():
        uncertainty = offset.uncertainty_ns
        if uncertainty is not None:
            uncertainty = round(max(uncertainty, errors.get(row, 0.0)))
        clocks[matching.workers[row]] = ClockOffset(
            offset_ns=round(offset.offset_ns),
            drift_ppm=1e6 * offset.drift,
            pivot_ns=round(offset.pivot_ns),
            collectives=offset.count,
            hops=offset.hops,
            uncertainty_ns=uncertainty,
        )
    own = matching.calls.filter(pl.col("worker") == number)["match"].drop_nulls().n_unique()
    return clocks | {reference: ClockOffset(0, 0.0, round(offsets[number].pivot_ns), own, 0, 0)}


def worker_pairs(matching: Matching, reference: int | None = None) -> pl.DataFrame:
    """Pairs of workers whose clocks are compared directly, as
    :data:`~torch_tb_profiler.analysis.communication.offsets.PAIRS`."""
    transfers = pl.col("collective").is_in(communication.peer_to_peer_names())
    calls = matching.calls.filter(pl.col("match").is_not_null()).select(
        "worker", "record", "collective", transfer=transfers.fill_null(value=False)
    )
    spans = (
        matching.ranges.filter(pl.col("match").is_not_null())
        .join(calls, on=["worker", "record"])
        .group_by("worker", "match")
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            pl.col("collective", "transfer").first(),
        )
    )
    pairs = pair_offsets(spans.filter(~pl.col("transfer")), reference)
    connected = components(pairs, range(len(matching.workers)))
    if len(set(connected.values())) == 1:
        return pairs
    return pl.concat([pairs, _transfer_pairs(spans.filter("transfer"), connected)])


def _transfer_pairs(spans: pl.DataFrame, connected: Mapping[int, int]) -> pl.DataFrame:
    """Pairs of workers in different components that send and receive: an offset at which nothing
    arrives before it was sent, nearest to that at which both ends are equal."""
    columns = ("match", "worker", "start_ns", "end_ns")
    sends = spans.filter(pl.col("collective") == "send").select(columns)
    receives = spans.filter(pl.col("collective") == "recv").select(columns)
    both = sends.join(receives, on="match", suffix="_there").filter(
        pl.col("worker").replace_strict(dict(connected), return_dtype=pl.Int64)
        != pl.col("worker_there").replace_strict(dict(connected), return_dtype=pl.Int64)
    )
    forward = pl.col("worker") < pl.col("worker_there")
    # The offset is time of the first minus time of the second worker at one moment.
    earliest = pl.col("start_ns") - pl.col("end_ns_there")
    ends = pl.col("end_ns") - pl.col("end_ns_there")
    difference = (pl.col("ends") - pl.col("ends").median()).abs().median()
    frame = (
        both.select(
            first=pl.min_horizontal("worker", "worker_there").cast(pl.Int64),
            second=pl.max_horizontal("worker", "worker_there").cast(pl.Int64),
            at_ns=pl.when(forward).then("end_ns").otherwise("end_ns_there"),
            ends=pl.when(forward).then(ends).otherwise(-ends),
            lowest=pl.when(forward).then(earliest),
            highest=pl.when(~forward).then(-earliest),
        )
        .group_by("first", "second")
        .agg(
            middle=pl.col("ends").median(),
            pivot_ns=pl.col("at_ns").median(),
            lowest=pl.col("lowest").max(),
            highest=pl.col("highest").min(),
            count=pl.len().cast(pl.Int64),
            sigma_ns=pl.when(pl.len() >= FEW).then(difference),
        )
        .with_columns(
            offset_ns=pl.max_horizontal("lowest", pl.min_horizontal("highest", "middle")).cast(
                pl.Float64
            )
        )
        .with_columns(
            drift=pl.lit(0.0),
            bias_ns=pl.max_horizontal(
                pl.col("offset_ns") - pl.col("lowest"), pl.col("highest") - pl.col("offset_ns")
            )
            .fill_null(0.0)
            .clip(1.0),
        )
    )
    return frame.select(pl.col(name).cast(dtype) for name, dtype in PAIRS.items()).sort(
        "first", "second"
    )
