"""Ranges of scopes that device work states itself: each lasts from the first to the last work of
consecutive work in it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int32, Int64

MAX_SCOPES = 32
"""Levels of scopes that are read of a piece of work."""


class ScopeRanges(Struct, frozen=True):
    """Ranges; arrays are aligned but for the last.

    Attributes:
        code: Code of the name of each.
        start_ns: Its start.
        dur_ns: Its duration.
        innermost: Per piece of work the index of the innermost range around it, -1 for none.
    """

    code: Int32
    start_ns: Int64
    dur_ns: Int64
    innermost: Int64


def scope_ranges(levels: Int32, start_ns: Int64, end_ns: Int64, runs: Int64) -> ScopeRanges:
    """The ranges of work on one stream.

    Args:
        levels: Per piece of work, by start, the code of its scope on each level; -1 below the last.
        start_ns: Its start.
        end_ns: Its end.
        runs: A number that changes where scopes end whatever they are called.
    """
    count = start_ns.size
    none = np.empty(0, np.int64)
    codes, starts, durations = [none.astype(np.int32)], [none], [none]
    innermost = np.full(count, -1, np.int64)
    latest = np.maximum.accumulate(end_ns) if count else end_ns
    following = np.append(start_ns, np.iinfo(np.int64).max)
    is_new = np.ones(count, np.bool_)
    is_new[1:] = runs[1:] != runs[:-1]
    number = 0
    for level in range(levels.shape[1]):
        of_level = levels[:, level]
        is_new[1:] |= of_level[1:] != of_level[:-1]
        first = np.flatnonzero(is_new)
        last = np.append(first[1:], count) - 1
        has_scope = of_level[first] >= 0
        range_of_run = np.where(has_scope, number + np.cumsum(has_scope) - 1, -1)
        of_work = np.repeat(range_of_run, last - first + 1)
        innermost = np.where(of_work >= 0, of_work, innermost)
        first, last = first[has_scope], last[has_scope]
        number += first.size
        end = np.minimum(latest[last], following[last + 1])  # ranges do not cross
        codes.append(of_level[first])
        starts.append(start_ns[first])
        durations.append(np.maximum(end - start_ns[first], 0))
    return ScopeRanges(
        np.concatenate(codes), np.concatenate(starts), np.concatenate(durations), innermost
    )
