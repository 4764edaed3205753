"""When no device works, and which call ends it.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.forests import gather, indices
from torch_tb_profiler.analysis.intervals import Intervals, union
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """The stretches between the work of all devices, in order of time; none of them is empty.

    Attributes:
        start_ns: Start of each: where the last work ended, or the trace begins.
        end_ns: End of each: where the next work starts, or the trace ends.
        launch: Slice id of the call that launched what ends the gap; -1 where it is not known or
            no work follows.
        host_end_ns: Until when the host was late: the end of that call, cut at the gap; the whole
            gap where the call is not known. From then on the device alone decides.
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
    """When any device worked: kernels, copies and sets of all devices."""
    start = trace.device_work["start_ns"].to_numpy()
    return union(start, start + trace.device_work["dur_ns"].to_numpy())


@per_trace
def gaps(trace: Trace) -> Gaps:
    """The gaps of a trace; the first starts with it, the last ends with it."""
    working = busy(trace)
    before = np.append(trace.meta.start_ns, working.end_ns)
    after = np.append(working.start_ns, max(trace.meta.end_ns, int(before[-1])))
    launch = np.append(_first_launches(trace, working.start_ns), -1)
    filled = after > before
    start, end, launch = before[filled], after[filled], launch[filled]
    calls = trace.slices.select("start_ns", "dur_ns")
    returned = (calls["start_ns"] + calls["dur_ns"]).to_numpy()
    late_until = np.where(launch >= 0, gather(returned, launch), end)
    return Gaps(start, end, launch, np.clip(late_until, start, end))


def all_idle(trace: Trace) -> Intervals:
    """When no device works."""
    idle = gaps(trace)
    return Intervals(idle.start_ns, idle.end_ns)


def _first_launches(trace: Trace, start_ns: Int64) -> Int64:
    """Per moment at which work starts, the launch of (the first of) it; -1 for none."""
    work = trace.device_work.select("start_ns", "dur_ns", "launch")
    starts = work["start_ns"].to_numpy()
    rows = np.flatnonzero((work["dur_ns"].to_numpy() > 0) & np.isin(starts, start_ns))
    rows = rows[np.argsort(starts[rows], kind="stable")]
    first = rows[np.searchsorted(starts[rows], start_ns)] if len(rows) else rows
    launches: Int64 = indices(work["launch"])[first]
    return launches
