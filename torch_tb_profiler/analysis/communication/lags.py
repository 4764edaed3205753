"""How many calls one worker is behind another in a sequence of like calls, by their rhythm.

Recordings of several ranks rarely begin and end at the same call. Where nothing numbers the calls
and no other calls say how the clocks differ, the right lag shows in the differences of the ends:
with it most of them are equal, whatever the clocks say; with every other lag they vary as the gaps
between calls do. Calls that follow each other too regularly to say so stay apart.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Float64, Int64

FEWEST_CALLS = 8
"""A shorter sequence has no rhythm to go by."""

COMPARED_CALLS = 96
"""Calls in the middle of a sequence that are compared: enough to be sure, too short to drift."""

MAX_LAG = 64
"""Lags that are tried, from a common first call and from a common last one."""

CORE = 0.4
"""Share of the differences that must agree: a lost call splits them in two."""

DISTINCT = 4.0
"""The best lag has differences that agree so much better than with the next best."""

MAX_DRIFT = 1e-4
"""Clocks drift apart by less, per unit of time."""

TOLERANCE = 6.0
"""Widths of the core that a difference may be from its middle."""

FINEST_NS = 1000.0


def rhythm_keys(counted: pl.DataFrame) -> pl.DataFrame:
    """Keys of calls that belong together by their rhythm: ``worker``, ``record``, ``rhythm_key``.

    They are enough to compare clocks, and not meant to be complete.

    Args:
        counted: ``worker``, ``record``, ``bucket`` and ``end_ns`` of calls that order alone tells
            apart.
    """
    rows = [
        keys
        for (bucket,), calls in counted.sort("worker", "end_ns").group_by("bucket")
        for keys in _bucket_keys(str(bucket), calls)
    ]
    schema = {"worker": pl.Int64, "record": pl.Int64, "rhythm_key": pl.String}
    return pl.concat([pl.DataFrame(schema=schema), *rows])


def _bucket_keys(bucket: str, calls: pl.DataFrame) -> list[pl.DataFrame]:
    """The keys of the calls of each worker that could be compared with the one with most calls."""
    workers = {
        int(worker): own
        for (worker,), own in calls.group_by("worker", maintain_order=True)
        if own.height >= FEWEST_CALLS
    }
    if len(workers) < 2:
        return []
    reference = max(workers, key=lambda worker: (workers[worker].height, -worker))
    ends = workers[reference]["end_ns"].to_numpy().astype(np.float64)
    keyed = [_keys(bucket, workers[reference], np.arange(len(ends)))]
    for worker, own in workers.items():
        if worker != reference:
            position = matched_positions(ends, own["end_ns"].to_numpy().astype(np.float64))
            rows = np.flatnonzero(position >= 0)
            keyed.append(_keys(bucket, own[rows], position[rows]))
    return keyed


def _keys(bucket: str, calls: pl.DataFrame, position: Int64) -> pl.DataFrame:
    text = pl.Series(position).cast(pl.String)
    return calls.select(
        pl.col("worker", "record").cast(pl.Int64),
        rhythm_key=pl.concat_str(pl.lit("v"), pl.lit(bucket), text, separator="\n"),
    )


def matched_positions(reference: Float64, own: Float64) -> Int64:
    """Per end in ``own`` the position of the same call in ``reference``, -1 where it is not clear.

    Args:
        reference: Ends of one worker, ascending, in ns.
        own: Ends of another one, on its clock, ascending.
    """
    none = np.full(len(own), -1, np.int64)
    middle = max(0, (len(own) - COMPARED_CALLS) // 2)
    part = np.arange(middle, min(len(own), middle + COMPARED_CALLS))
    fits = [
        (width, lag, offset)
        for lag in _lags(len(reference), len(own))
        if (fit := _core(reference, own, part, lag)) is not None
        for width, offset in [fit]
    ]
    if not fits:
        return none
    width, lag, offset = min(fits)
    width = max(width, FINEST_NS)
    others = [
        other_width for other_width, _, other in fits if abs(other - offset) > TOLERANCE * width
    ]
    if others and min(others) < DISTINCT * width:
        return none
    position = np.arange(len(own)) + lag
    known = (position >= 0) & (position < len(reference))
    difference = reference[np.clip(position, 0, len(reference) - 1)] - own
    away = np.abs(own - own[part].mean())
    is_close = np.abs(difference - offset) <= TOLERANCE * width + MAX_DRIFT * away
    return np.where(known & is_close, position, none)


def _lags(reference: int, own: int) -> list[int]:
    """Lags near a common first call and near a common last one."""
    near = range(-MAX_LAG, MAX_LAG + 1)
    return sorted({*near, *(reference - own + lag for lag in near)})


def _core(reference: Float64, own: Float64, part: Int64, lag: int) -> tuple[float, float] | None:
    """Width and middle of the shortest interval that holds :data:`CORE` of the differences."""
    rows = part[(part + lag >= 0) & (part + lag < len(reference))]
    if len(rows) < max(FEWEST_CALLS, len(part) // 2):
        return None
    difference = np.sort(reference[rows + lag] - own[rows])
    count = max(3, int(np.ceil(CORE * len(rows))))
    widths = difference[count - 1 :] - difference[: len(rows) - count + 1]
    best = int(np.argmin(widths))
    return float(widths[best]), float(difference[best : best + count].mean())
