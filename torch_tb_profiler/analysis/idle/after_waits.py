"""Idle time that a wait of the host brought about.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    total_within,
    union_all,
)
from torch_tb_profiler.analysis.idle.drained import Drained
from torch_tb_profiler.analysis.idle.gaps import Gaps
from torch_tb_profiler.trace.columns import Bools, Int64


@dataclass(frozen=True, slots=True, eq=False)
class AfterWaits:
    """Idle stretches, sorted and disjoint, each after one wait.

    Attributes:
        start_ns: Start of each.
        end_ns: End of each.
        wait: Row of the table of waits.
    """

    start_ns: Int64
    end_ns: Int64
    wait: Int64

    def of(self, chosen: Bools) -> Intervals:
        """The stretches after the waits that ``chosen`` (per row of the table) marks."""
        rows = chosen[self.wait]
        return Intervals(self.start_ns[rows], self.end_ns[rows])

    def per_wait(self, count: int, start_ns: Int64, end_ns: Int64) -> Int64:
        """Idle time inside disjoint windows per wait, ns, shape ``(count,)``."""
        inside = total_within(Intervals(start_ns, end_ns), self.start_ns, self.end_ns)
        return np.bincount(self.wait, inside, count).astype(np.int64)


def after_waits(idle: Gaps, begun: Drained, host: Intervals, blocked: Intervals) -> AfterWaits:
    """What of the host's time in gaps follows waits for device work.

    Args:
        idle: All gaps.
        begun: Those that waits began.
        host: When the host, late, launched (cause *the host*).
        blocked: When it was late in a call that waits.
    """
    gap, waited_ns = begun.gap, begun.waited_ns
    until = np.minimum(begun.returned_ns, begun.began_ns + waited_ns)
    returning = Intervals(begun.began_ns, np.minimum(until, idle.end_ns[gap]))
    avoidable = union_all(host, intersect(blocked, returning))
    in_gap = np.searchsorted(idle.start_ns, avoidable.start_ns, "right") - 1
    lengths = avoidable.end_ns - avoidable.start_ns
    demand = np.bincount(in_gap, lengths, len(idle.start_ns)).astype(np.int64)
    supply = np.bincount(gap, waited_ns, len(idle.start_ns)).astype(np.int64)
    ahead = idle.host_end_ns <= idle.start_ns
    charged = _charged(supply, demand, ahead)
    before = np.cumsum(lengths) - lengths
    first = np.searchsorted(in_gap, np.arange(len(charged)))
    since = before - np.append(before, 0)[first[in_gap]]
    kept = np.clip(charged[in_gap] - since, 0, lengths)
    some = kept > 0
    latest = np.searchsorted(gap, in_gap[some], "right") - 1
    begin = avoidable.start_ns[some]
    return AfterWaits(begin, begin + kept[some], begun.wait[latest])


def _charged(supply: Int64, demand: Int64, ahead: Bools) -> Int64:
    """How much of each gap's demand is met by what was supplied at or before it, unspent, since
    the host was ahead the last time.

    ``left = max(0, left + supply - demand)`` from gap to gap, as running minima of sums.
    """
    if not len(supply):
        return demand
    # Between two gaps in which the host is late, all others spend everything once.
    matters = ~ahead | np.append(True, ~ahead[:-1])
    everything = int(supply.sum()) + 1
    change = np.where(ahead, -everything, supply - demand)[matters]
    sums = np.cumsum(change)
    left_there = sums - np.minimum(np.minimum.accumulate(sums), 0)
    left = np.zeros(len(supply), np.int64)
    left[matters] = left_there
    before = np.append(0, left[:-1])
    charged: Int64 = np.where(ahead, 0, before + supply - left)
    return charged
