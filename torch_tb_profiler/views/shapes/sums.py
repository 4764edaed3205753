"""Rows with equal numbers, counted and summed over whole columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Float64, Int64


def sum_known(group: Int64, count: int, values: Float64) -> Float64:
    """The sum of each of ``count`` groups; NaN for groups without a known value."""
    is_known = ~np.isnan(values)
    sums: Float64 = np.bincount(group[is_known], values[is_known], count).astype(np.float64)
    sums[np.bincount(group[is_known], minlength=count) == 0] = np.nan
    return sums


def first_of(group: Int64, count: int) -> Int64:
    """The first row of each of ``count`` groups, none empty."""
    first = np.empty(count, np.int64)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    return first


class Figures(Struct, frozen=True, eq=False):
    """Per group over its values; NaN where none is known."""

    mean: Float64
    low: Float64
    high: Float64


def figures(group: Int64, count: int, values: Float64) -> Figures:
    """Mean and extremes of each of ``count`` groups, none empty, whose rows lie together."""
    known = np.bincount(group[~np.isnan(values)], minlength=count)
    with np.errstate(invalid="ignore"):
        mean = sum_known(group, count, values) / known
    first = np.searchsorted(group, np.arange(count))
    return Figures(mean, np.fmin.reduceat(values, first), np.fmax.reduceat(values, first))
