"""Gaps between device work: when they are, which call ends them, which work lies next to them.

Definitions: ``docs/metrics.md#idle-devices``; of one kernel, ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import rows_of_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, indices_at
from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Gaps(Struct, frozen=True, eq=False):
    """The stretches between some device work, in order of time; none of them is empty.

    Attributes:
        start_ns: Start of each: where the last work ended, or the trace begins.
        end_ns: End of each: where the next work starts, or the trace ends.
        launch: Slice id of the call that launched what ends the gap; -1 where it is unknown or no
            work follows.
        host_end_ns: Until when the host was late: the end of that call, cut at the gap; the whole
            gap where the call is unknown. From then on the device alone decides.
    """

    start_ns: Int64
    end_ns: Int64
    launch: Int64
    host_end_ns: Int64

    @property
    def host_late(self) -> Intervals:
        """The parts in which the device had nothing to start."""
        late = self.host_end_ns > self.start_ns
        return Intervals(self.start_ns[late], self.host_end_ns[late])


@per_trace
def busy(trace: Trace) -> Intervals:
    """When any device worked: kernels, copies and memsets of all devices."""
    start = trace.device_work["start_ns"].to_numpy()
    return union(start, start + trace.device_work["dur_ns"].to_numpy())


@per_trace
def gaps(trace: Trace) -> Gaps:
    """The gaps of a trace; the first starts with it, the last ends with it."""
    return gaps_between(trace, busy(trace), np.arange(trace.device_work.height))


def gaps_between(trace: Trace, working: Intervals, rows: Int64) -> Gaps:
    """The stretches between some work, from the start of the trace to its end.

    Args:
        trace: The recording.
        working: When that work ran.
        rows: Its rows of ``trace.device_work``.
    """
    before = np.append(trace.meta.start_ns, working.end_ns)
    after = np.append(working.start_ns, max(trace.meta.end_ns, int(before[-1])))
    launch, first_start = _first_launches(trace, working.start_ns, rows)
    launch = np.append(launch, -1)
    first_start = np.append(first_start, trace.meta.end_ns)
    filled = after > before
    start, end, launch, first_start = (
        column[filled] for column in (before, after, launch, first_start)
    )
    call_start, call_dur = (
        gather(trace.slices[key].to_numpy(), launch) for key in ("start_ns", "dur_ns")
    )
    late_until = np.where(launch >= 0, call_start + call_dur, end)
    # Of a call that launches a graph some work ran before the gap: all of it had arrived.
    late_until = np.where((launch >= 0) & (first_start < start), start, late_until)
    return Gaps(start, end, launch, np.clip(late_until, start, end))


def all_idle(trace: Trace) -> Intervals:
    """When no device works."""
    idle = gaps(trace)
    return Intervals(idle.start_ns, idle.end_ns)


def _first_launches(trace: Trace, start_ns: Int64, rows: Int64) -> tuple[Int64, Int64]:
    """Per moment at which some work starts, the launch of (the first of) it, -1 for none; and when
    the first work of that launch started."""
    work = trace.device_work
    rows = rows[work["dur_ns"].to_numpy()[rows] > 0]
    starts, launches = work["start_ns"].to_numpy()[rows], indices_at(work["launch"], rows)
    order = np.argsort(starts, kind="stable")
    starts, launches = starts[order], launches[order]
    if not len(rows):
        return launches, starts
    launch = launches[np.searchsorted(starts, start_ns)]
    known, first = np.unique(launches, return_index=True)
    return launch, starts[first[np.searchsorted(known, launch)]]


def adjacent_work(trace: Trace, idle: Gaps, rows: Int64) -> tuple[Int64, Int64]:
    """Per gap the work that ended last where it starts, and the first that starts where it ends.

    Args:
        trace: The recording.
        idle: Gaps of :func:`gaps_between` for these rows.
        rows: Rows of ``trace.device_work``.

    Returns:
        Rows of ``trace.device_work``, -1 for none.
    """
    work = trace.device_work
    rows = rows[work["dur_ns"].to_numpy()[rows] > 0]
    start = work["start_ns"].to_numpy()[rows]
    end = start + work["dur_ns"].to_numpy()[rows]
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    after = np.searchsorted(start[by_start], idle.end_ns)
    before = np.searchsorted(end[by_end], idle.start_ns, "right") - 1
    return (
        np.where(before >= 0, np.append(rows[by_end], -1)[before], -1),
        np.where(after < len(rows), np.append(rows[by_start], -1)[after], -1),
    )


@per_trace
def gaps_before(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` how long its device was idle directly before it, ns: from
    the end of all earlier work of the device to its start. 0 where some ran, for all but the first
    of what starts together, and before the first work of a device, so that each idle moment of a
    device counts once."""
    work = trace.device_work
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    before = np.zeros(len(start), np.int64)
    for of_device in rows_of_values(device).values():
        rows = of_device[np.argsort(start[of_device], kind="stable")]
        reach = np.maximum.accumulate(end[rows])
        before[rows[1:]] = np.maximum(start[rows[1:]] - reach[:-1], 0)
    return before
