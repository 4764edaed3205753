"""How much shorter a step would be if device work were shorter.

Definitions: ``docs/advice.md#what-can-be-gained``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import subtract, total_within, union
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LATE_NS = 5_000
"""A synchronizing call whose work starts later than this after the work before it was busy itself
(staging a copy): its work could not have started earlier."""


class DeviceFront(Struct, frozen=True, eq=False):
    """The device work that ends later than all earlier work, in order of time.

    Attributes:
        row: Its row of ``trace.device_work``.
        start_ns, end_ns: When it ran; ends ascend.
        since_ns: From when on it ran alone: its start, or the end of the work before it.
        slack_ns: How much earlier it could have started, given its launch.
        waited_ns: How long the host waited for its end; 0 where it did not.
    """

    row: Int64
    start_ns: Int64
    end_ns: Int64
    since_ns: Int64
    slack_ns: Int64
    waited_ns: Int64


@per_trace
def device_front(trace: Trace) -> DeviceFront:
    """The front of the work of all devices."""
    work = trace.device_work.select("start_ns", "dur_ns", "launch")
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    row = np.lexsort((end, start))
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[row]))[:-1]
    later = end[row] > before
    row, before = row[later], before[later]
    start, end = start[row], end[row]
    slack = _slack(trace, indices(work["launch"])[row], start, before)
    return DeviceFront(row, start, end, np.maximum(before, start), slack, _waited(trace, end))


def estimate_saved_ns(trace: Trace, slices: Int64, saved_ns: Int64) -> float | None:
    """Estimate how much shorter the step would be if some device work were shorter, in ns.

    Args:
        trace: The recording.
        slices: Slice ids of device work.
        saved_ns: By how much each could be shorter.

    Returns:
        The time by which what waits for that work comes earlier: each moment counts once, and only
        where no other device work runs. None where no launch is known.
    """
    work = trace.device_work
    if work["launch"].null_count() == work.height:
        return None
    saved = np.zeros(work.height, np.int64)
    saved[np.searchsorted(work["slice"].to_numpy(), slices)] = saved_ns
    front = device_front(trace)
    saved = np.minimum(saved, _alone(trace, saved > 0))[front.row]
    return float(_host_shift(front, np.minimum(saved, front.end_ns - front.since_ns)))


def _host_shift(front: DeviceFront, saved_ns: Int64) -> int:
    """How much earlier the host returns from its last wait.

    A piece starts earlier by as much as the one before it ends earlier, but not before its launch
    has arrived, which comes earlier by as much as the host returned earlier from the waits before
    it. A wait ends when both the host has come to it and the piece has ended. So a wait that
    leaves work in the queue (a full queue) passes on what the device, not the host, is ahead.
    """
    awaited = np.flatnonzero(front.waited_ns > 0)
    if not len(awaited):
        return 0
    first = np.append(0, awaited + 1)[: len(awaited)]
    # A piece that starts before the previous one has ended did not wait for it, but for the same.
    overlapped = np.append(front.start_ns[1:] < front.end_ns[:-1], False)
    total = np.append(0, np.cumsum(np.where(overlapped, 0, saved_ns)))
    limit = front.slack_ns - total[:-1]
    own = limit[first]
    limit[first] = np.iinfo(np.int64).max // 2
    later = np.minimum.reduceat(limit[: awaited[-1] + 1], first)
    arrived = front.start_ns[first] - front.slack_ns[first]
    waits_before = np.searchsorted(front.end_ns[awaited], arrived, "right")
    ended = total[awaited] + saved_ns[awaited]
    passed_on = np.where(overlapped[awaited], saved_ns[awaited], 0)
    columns = (later, own, total[first], ended, passed_on, front.waited_ns[awaited], waits_before)
    host, device = [0], 0  # how much earlier: the host after each wait, the device after the last
    for least, slack, before, after, overlapping, waited, known in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        launched = host[min(known, len(host) - 1)]
        start = min(device - before, slack + launched) if len(host) > 1 else -before
        end = min(start, least + launched) + after
        host.append(min(waited + host[-1], end))
        device = end - overlapping
    return host[-1]


def _alone(trace: Trace, chosen: Bools) -> Int64:
    """How long each chosen piece of work ran while no other work did; 0 for pieces not chosen."""
    dur = trace.device_work["dur_ns"].to_numpy()
    length = np.where(chosen, dur, 0)
    overlaps = _overlaps(trace)
    overlapped = chosen & overlaps
    if overlapped.any():
        start = trace.device_work["start_ns"].to_numpy()
        end = start + dur
        own = start[overlapped], end[overlapped]
        others = overlaps & ~chosen & (end > own[0].min()) & (start < own[1].max())
        alone = subtract(union(*own), union(start[others], end[others]))
        length[overlapped] = total_within(alone, *own)
    return length


@per_trace
def _overlaps(trace: Trace) -> Bools:
    """Per row of ``trace.device_work`` whether other work overlaps it."""
    start = trace.device_work["start_ns"].to_numpy()
    order = np.argsort(start, kind="stable")
    starts, ends = start[order], (start + trace.device_work["dur_ns"].to_numpy())[order]
    reach = np.maximum.accumulate(ends)
    overlaps = np.zeros(len(start), np.bool_)
    overlaps[order[1:]] = starts[1:] < reach[:-1]
    overlaps[order[:-1]] |= ends[:-1] > starts[1:]
    return overlaps


def _slack(trace: Trace, launch: Int64, start_ns: Int64, before_ns: Int64) -> Int64:
    """Time from the arrival of its launch to its start. Calls that wait for their own work launched
    it when they started."""
    calls = trace.slices.select("start_ns", "dur_ns")
    arrived = (calls["start_ns"] + calls["dur_ns"]).to_numpy()[launch]
    waiting = np.isin(launch, waits(trace)["id"].to_numpy())
    arrived = np.where(waiting, calls["start_ns"].to_numpy()[launch], arrived)
    known = (launch >= 0) & ~(waiting & (start_ns > before_ns + LATE_NS))
    return np.where(known, np.maximum(start_ns - arrived, 0), 0)


def _waited(trace: Trace, end_ns: Int64) -> Int64:
    """How long the host waited for the end of each piece; for the last one, how long it outlasts
    the host."""
    waited = np.zeros(len(end_ns), np.int64)
    if not len(end_ns):
        return waited
    calls = waits(trace).select("start_ns", "end_ns").sort("end_ns")
    start = calls["start_ns"].to_numpy()
    piece = np.searchsorted(end_ns, calls["end_ns"].to_numpy(), "right") - 1
    ended = np.where(piece >= 0, end_ns[piece], start)
    np.maximum.at(waited, piece[ended > start], (ended - start)[ended > start])
    waited[-1] = max(waited[-1], int(end_ns[-1]) - _host_end_ns(trace))
    return waited


def _host_end_ns(trace: Trace) -> int:
    """When the last operator, range, step, frame or call of the host ended."""
    host = trace.slices.filter(pl.col("category") <= Category.RUNTIME)
    end = (host["start_ns"] + host["dur_ns"]).max()
    return int(end) if isinstance(end, int) else 0
