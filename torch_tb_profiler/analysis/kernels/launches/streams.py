"""The streams of each device: busy time, gaps, and the queue of launched work.

Definitions: ``docs/views-idle.md#streams``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, WeightProfile, intersect, union
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

SHORT_NS = 30
"""HTA's ``consecutive_kernel_delay``: shorter gaps of a stream are the cost of one kernel after the
other."""


class Stream(Struct, frozen=True, eq=False):
    """A stream of a device.

    Attributes:
        device: Its device, -1 where unknown.
        stream: Its number, -1 where unknown.
        rows: Its rows of ``trace.device_work``, by start.
        working: When it works.
        overlapped: The part of that in which another stream of its device works too.
        queue: Number of waiting pieces of work: launched by a call that has started, and not
            started themselves. None where no launch is known.
        gap_start_ns, gap_end_ns: Its gaps, each between work and the next.
        gap_kind: HTA's category of each: 0 waiting for the host, 1 from kernel to kernel, 2 other.
    """

    device: int
    stream: int
    rows: Int64
    working: Intervals
    overlapped: Intervals
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
        for number in distinct_values(device).tolist()
    }
    call_start = _call_starts(trace)
    return tuple(
        _stream(
            part, (start, end, call_start), (int(device[part[0]]), int(stream[part[0]])), shared
        )
        for part in parts
    )


def busiest_queues(trace: Trace, limit: int) -> tuple[list[tuple[Stream, WeightProfile]], int]:
    """Per device the streams with most work, at most ``limit`` of it, in which work ever waited,
    with their queues, by device and number; and how many such streams are left out. Work whose
    stream is unknown is none."""
    waited: dict[int, list[tuple[Stream, WeightProfile]]] = {}
    for stream in streams(trace):
        queue = stream.queue
        if min(stream.device, stream.stream) >= 0 and queue is not None and queue.levels()[1].any():
            waited.setdefault(stream.device, []).append((stream, queue))
    listed = []
    for queues in waited.values():
        most = sorted(queues, key=lambda each: -len(each[0].rows))[:limit]
        listed += sorted(most, key=lambda each: each[0].stream)
    return listed, sum(map(len, waited.values())) - len(listed)


def _stream(
    rows: Int64,
    times: tuple[Int64, Int64, Int64],
    number: tuple[int, int],
    shared: dict[int, Intervals],
) -> Stream:
    start, end, call_start = (column[rows] for column in times)
    known = call_start >= 0
    working = union(start, end)
    queue = None
    if known.any():
        queue = WeightProfile(call_start[known], start[known], np.ones(int(known.sum())))
    gap_start, gap_end, kind = _gaps(start, end, call_start)
    return Stream(
        *number,
        rows=rows,
        working=working,
        overlapped=intersect(working, shared[number[0]]),
        queue=queue,
        gap_start_ns=gap_start,
        gap_end_ns=gap_end,
        gap_kind=kind,
    )


def _gaps(start: Int64, end: Int64, call_start: Int64) -> tuple[Int64, Int64, Int64]:
    """Gaps between consecutive work of a stream, and HTA's category of each: it waits for the host
    where the call started after the last work had ended."""
    gap_start, gap_end = np.maximum.accumulate(end)[:-1], start[1:]
    kind = np.where(gap_end - gap_start < SHORT_NS, 1, 2)
    kind = np.where((call_start[1:] > gap_start) & (call_start[1:] >= 0), 0, kind)
    filled = gap_end > gap_start
    return gap_start[filled], gap_end[filled], kind[filled]


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
    """Per row of ``trace.device_work`` when the call that launched it started, never after the work
    itself (clocks may differ a little); -1 where that is unknown."""
    launch = indices(trace.device_work["launch"])
    calls = trace.slices["start_ns"].to_numpy()
    known = launch >= 0
    call_start = np.full(len(launch), -1, np.int64)
    call_start[known] = np.minimum(
        calls[launch[known]], trace.device_work["start_ns"].to_numpy()[known]
    )
    return call_start
