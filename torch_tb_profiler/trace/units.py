"""Convert whole nanoseconds, as traces have them, to microseconds, as views show them.

Sums and differences are computed in whole nanoseconds and divided once, by a true division: then
9088 ns are 9.088 µs. Sums of µs accumulate the rounding errors of doubles, and polars divides a
column by a number by multiplying with its inverse, which gives 9.088000000000001.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64

NS_PER_US = 1000


def microseconds(ns: pl.Series, among: pl.Series | int = 1) -> pl.Series:
    """Nanoseconds as microseconds, each divided by ``among``; null where ``ns`` is null or
    ``among`` is 0."""
    parts = among.cast(pl.Float64).to_numpy() if isinstance(among, pl.Series) else float(among)
    whole = ns.cast(pl.Float64).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(parts > 0, whole / (parts * NS_PER_US), np.nan)
    return pl.Series(ns.name, shares, nan_to_null=True)


def exact_microseconds(time_ns: int) -> float:
    """One time in microseconds, also since the epoch: Python divides whole numbers exactly and
    rounds once."""
    return time_ns / NS_PER_US


def mean_microseconds(ns: Int64) -> float | None:
    """The mean in microseconds; None for an empty array."""
    return int(ns.sum()) / (len(ns) * NS_PER_US) if len(ns) else None
