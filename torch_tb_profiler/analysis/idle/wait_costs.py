"""Idle time that a synchronizing call causes, because it drains the queue.

While the host waits nothing new is launched, so the devices run empty, and the time the host needs
to launch again is idle. Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices_at
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.gaps import Gaps, busy
from torch_tb_profiler.analysis.idle.host_threads import HostThread, host_threads, process_of_track
from torch_tb_profiler.analysis.idle.waits import COPY_NS, Wait
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

LAUNCHING_NS = 50_000
"""The next work starts at most so long after its launch where the device has nothing else to do
(recordings of eleven GPU models: at most 30)."""


class WaitCosts(Struct, frozen=True, eq=False):
    """Idle stretches, sorted and disjoint, each caused by one wait.

    Attributes:
        start_ns: Start of each.
        end_ns: End of each.
        wait: Row of the table of waits.
    """

    start_ns: Int64
    end_ns: Int64
    wait: Int64

    def caused_by(self, is_selected: Bools) -> Intervals:
        """The stretches of the waits that ``is_selected`` (per row of the table) marks."""
        rows = is_selected[self.wait]
        return Intervals(self.start_ns[rows], self.end_ns[rows])

    def by_wait_ns(self, count: int, start_ns: Int64, end_ns: Int64) -> Int64:
        """Idle time inside disjoint windows per wait, ns, shape ``(count,)``."""
        inside = total_within(Intervals(start_ns, end_ns), self.start_ns, self.end_ns)
        return np.bincount(self.wait, inside, count).astype(np.int64)


class DrainedGaps(Struct, frozen=True, eq=False):
    """Gaps that start during a wait, in order of time.

    Attributes:
        gap: Number of each gap.
        start_ns: When it starts.
        returned_ns: End of the wait.
        waited_ns: For how long until then the wait had blocked the thread that ends the gap, while
            a device worked; above 0.
        wait: Row of the table of waits.
    """

    gap: Int64
    start_ns: Int64
    returned_ns: Int64
    waited_ns: Int64
    wait: Int64


def drained_gaps(trace: Trace, waits: pl.DataFrame, idle: Gaps) -> DrainedGaps:
    """The gaps of ``idle`` that start during a wait, each once; a wait belongs to the last gap that
    starts in it.

    Of several waits the latest counts, those of the launching thread before others.
    """
    threads = host_threads(trace)
    start, end = waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy()
    gap = np.searchsorted(idle.start_ns, end, "right") - 1
    gap_start = np.append(idle.start_ns, -1)[gap]
    # What is copied to a device is needed there: waiting for that is not what brings idle time.
    avoidable = waits["track"].is_in(list(threads)).to_numpy() & (
        waits["wait"].to_numpy() != Wait.UPLOAD
    )
    row = np.flatnonzero((gap >= 0) & (gap_start > start) & avoidable)
    track = waits["track"].to_numpy()[row].astype(np.int64)
    launcher = indices_at(trace.slices["track"], idle.launch[gap[row]])
    # Of one GPU's gaps: others may work on while the call waits.
    until = np.minimum(end[row], idle.end_ns[gap[row]])
    waited_ns = _blocked_ns(trace, threads, launcher, track, (start[row], until))
    order = np.lexsort((start[row], end[row], track == launcher, gap[row]))
    order = order[waited_ns[order] > 0]
    last = order[_last_of_each(gap[row[order]])]
    row, waited_ns = row[last], waited_ns[last]
    return DrainedGaps(gap[row], gap_start[row], end[row], waited_ns, row)


def _last_of_each(values: Int64) -> Bools:
    last: Bools = np.append(values[1:] != values[:-1], True)[: len(values)]
    return last


def _blocked_ns(
    trace: Trace,
    threads: Mapping[int, HostThread],
    launcher: Int64,
    track: Int64,
    windows: tuple[Int64, Int64],
) -> Int64:
    """How long devices worked in windows of waits of ``track`` while ``launcher`` (-1: unknown)
    did not, ns: a thread that works is not blocked by the wait of another, nor by any of another
    process."""
    start, end = windows
    waited: Int64 = total_within(busy(trace), start, end)
    process = process_of_track(trace)
    waited[(launcher >= 0) & (gather(process, launcher) != gather(process, track))] = 0
    others = (launcher != track) & (waited > 0)
    for number in distinct_values(launcher[others & (launcher >= 0)]).tolist():
        rows = np.flatnonzero(others & (launcher == number))
        meanwhile = intersect(busy(trace), union(start[rows], end[rows]))
        unoccupied = subtract(meanwhile, threads[number].at_work)
        waited[rows] = total_within(unoccupied, start[rows], end[rows])
    return waited


def charge_waits(
    idle: Gaps, drained: DrainedGaps, host: Intervals, blocked: Intervals, uploads: pl.DataFrame
) -> WaitCosts:
    """The host's time in gaps that waits for device work caused.

    Args:
        idle: All gaps.
        drained: Those that start during a wait.
        host: When the host, late, launched (``IdleCause.HOST``).
        blocked: When it was late in a synchronizing call.
        uploads: The waits for copies to a device: without other waits the host would still be held
            there.
    """
    gap, waited_ns = drained.gap, drained.waited_ns
    until = np.minimum(drained.returned_ns, drained.start_ns + waited_ns)
    returning = Intervals(drained.start_ns, np.minimum(until, idle.end_ns[gap]))
    avoidable = union_all(host, intersect(blocked, returning))
    in_gap = np.searchsorted(idle.start_ns, avoidable.start_ns, "right") - 1
    lengths = avoidable.end_ns - avoidable.start_ns
    count = len(idle.start_ns)
    demand = np.bincount(in_gap, lengths, count).astype(np.int64)
    supply = np.bincount(gap, waited_ns, count).astype(np.int64)
    late = np.maximum(idle.host_end_ns - idle.start_ns, demand)
    held = uploads["start_ns"].filter(uploads["end_ns"] - uploads["start_ns"] >= COPY_NS)
    first_after = distinct_values(np.searchsorted(idle.end_ns, held.to_numpy(), "right"))
    held_at = first_after[first_after < count]
    lead = _lead(supply, late, held_at)
    # A gap that no wait begins is charged to waits only until the host has caught up.
    caught_up = np.flatnonzero(idle.host_end_ns <= idle.start_ns)
    recent = _lead(supply, late, np.union1d(held_at, caught_up))
    charged = np.minimum(np.where(supply > 0, lead, recent) + supply, demand)
    before = np.cumsum(lengths) - lengths
    first = np.searchsorted(in_gap, np.arange(len(charged)))
    since = before - np.append(before, 0)[first[in_gap]]
    charged_here = np.clip(charged[in_gap] - since, 0, lengths)
    some = charged_here > 0
    start = avoidable.start_ns[some]
    arriving = _arriving(idle, np.flatnonzero(charged > 0), lead + supply - charged)
    starts = np.append(start, idle.host_end_ns[arriving])
    ends = np.append(start + charged_here[some], idle.end_ns[arriving])
    order = np.argsort(starts, kind="stable")
    latest = np.searchsorted(gap, np.append(in_gap[some], arriving)[order], "right") - 1
    return WaitCosts(starts[order], ends[order], drained.wait[latest])


def _arriving(idle: Gaps, gap: Int64, lead: Int64) -> Int64:
    """Of some gaps in which the host was late because of a wait, those in which the launch itself
    would have arrived earlier: the host would have been ahead by so much more."""
    length = idle.end_ns - idle.host_end_ns
    arrives = (length > 0) & (length <= np.minimum(lead, LAUNCHING_NS))
    chosen: Int64 = gap[arrives[gap]]
    return chosen


def _lead(supply: Int64, late: Int64, held: Int64) -> Int64:
    """By how much earlier the host would come to each gap without the waits before it.

    ``lead = max(0, lead + supply - late)`` from gap to gap, as running minima of sums: what a gap
    would be shorter is a lead no more, as the device comes earlier too.

    Args:
        supply: Per gap how long a wait held the host that ended in it.
        late: Per gap how long the host was late.
        held: Gaps before which the host would have waited all the same, ascending.
    """
    if not len(supply):
        return supply
    change = np.insert(supply - late, held, -int(supply.sum()) - 1)
    sums = np.cumsum(change)
    lead = np.append(0, sums - np.minimum(np.minimum.accumulate(sums), 0))[:-1]
    before: Int64 = np.delete(lead, held + np.arange(len(held)))
    return before
