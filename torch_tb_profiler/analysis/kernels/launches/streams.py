"""What each stream of each device did, and how much work waited in its queue.

Definitions: ``docs/views-idle.md#streams``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, WeightProfile, intersect, union
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

SHORT_NS = 30
"""HTA's ``consecutive_kernel_delay``: shorter gaps of a stream are what one kernel after the other
costs."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A stream of a device.

    Attributes:
        device: Its device, -1 where the recording does not tell.
        stream: Its number, -1 where the recording does not tell.
        rows: Its rows of ``trace.device_work``, by start.
        working: When it works.
        beside: The part of that in which another stream of its device works too.
        queue: How many pieces of work wait: launched by a call that has begun, and not started.
            None where no launch is known.
        gap_start_ns, gap_end_ns: Its gaps, each between work and the next.
        gap_kind: Of each, HTA's word for it: 0 waiting for the host, 1 from kernel to kernel,
            2 other.
    """

    device: int
    stream: int
    rows: Int64
    working: Intervals
    beside: Intervals
    queue: WeightProfile | None
    gap_start_ns: Int64
    gap_end_ns: Int64
    gap_kind: Int64


@per_trace
def streams(trace: Trace) -> tuple[Stream, ...]:
    """The streams of all devices, by device and number."""
    work = trace.device_work
    device, stream = indices(work["device"]), indices(work["stream"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    order = np.lexsort((start, stream, device))
    changes = (np.diff(device[order]) != 0) | (np.diff(stream[order]) != 0)
    parts = np.split(order, np.flatnonzero(changes) + 1) if len(order) else []
    shared = {
        number: _several_at_once([part for part in parts if device[part[0]] == number], start, end)
        for number in np.unique(device).tolist()
    }
    called = _call_starts(trace)
    return tuple(
        _stream(part, (start, end, called), (int(device[part[0]]), int(stream[part[0]])), shared)
        for part in parts
    )


def _stream(
    rows: Int64,
    times: tuple[Int64, Int64, Int64],
    number: tuple[int, int],
    shared: dict[int, Intervals],
) -> Stream:
    start, end, called = (of[rows] for of in times)
    known = called >= 0
    working = union(start, end)
    queue = None
    if known.any():
        queue = WeightProfile(called[known], start[known], np.ones(int(known.sum())))
    gap_start, gap_end, kind = _gaps(start, end, called)
    return Stream(
        *number,
        rows=rows,
        working=working,
        beside=intersect(working, shared[number[0]]),
        queue=queue,
        gap_start_ns=gap_start,
        gap_end_ns=gap_end,
        gap_kind=kind,
    )


def _gaps(start: Int64, end: Int64, called: Int64) -> tuple[Int64, Int64, Int64]:
    """Gaps between work and the next of the same stream, and HTA's kind of each: the host was late
    when the call began after the last work had ended."""
    ended, begun = np.maximum.accumulate(end)[:-1], start[1:]
    kind = np.where(begun - ended < SHORT_NS, 1, 2)
    kind = np.where((called[1:] > ended) & (called[1:] >= 0), 0, kind)
    filled = begun > ended
    return ended[filled], begun[filled], kind[filled]


def _several_at_once(parts: list[Int64], start: Int64, end: Int64) -> Intervals:
    """When two or more streams of a device work."""
    if len(parts) < 2:
        none = np.empty(0, np.int64)
        return Intervals(none, none)
    working = [union(start[part], end[part]) for part in parts]
    starts = np.concatenate([part.start_ns for part in working])
    ends = np.concatenate([part.end_ns for part in working])
    edges, level = WeightProfile(starts, ends, np.ones(len(starts))).levels()
    several: Bools = level[:-1] >= 2
    return union(edges[:-1][several], edges[1:][several])


def _call_starts(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` when the call that launched it began, never after the work
    itself (clocks may differ a little); -1 where that is not known."""
    launch = indices(trace.device_work["launch"])
    calls = trace.slices["start_ns"].to_numpy()
    known = launch >= 0
    began = np.full(len(launch), -1, np.int64)
    began[known] = np.minimum(calls[launch[known]], trace.device_work["start_ns"].to_numpy()[known])
    return began
