"""Every moment in which a GPU runs nothing, given to one cause.

Made of the causes of :mod:`torch_tb_profiler.analysis.idle.causes`, asked of the gaps of one GPU.
Definitions: ``docs/views-idle.md#causes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.causes import Cause, causes_of
from torch_tb_profiler.analysis.idle.gaps import Gaps, gaps_between
from torch_tb_profiler.analysis.idle.host_threads import HostThread, host_threads, together
from torch_tb_profiler.analysis.idle.per_gpu.collections import garbage_collection
from torch_tb_profiler.analysis.idle.per_gpu.elsewhere import (
    LONG_NS,
    after_event_wait,
    communication_of_devices,
    host_collectives,
    host_collectives_of,
    waits_of_devices,
)
from torch_tb_profiler.analysis.idle.per_gpu.waiting_frames import waited_in_python
from torch_tb_profiler.analysis.idle.resources import NO_GPU, gpus_used
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class GpuCause(IntEnum):
    """Why one GPU runs nothing."""

    LAUNCH_BOUND = 0
    """It waits for the host, which runs operators, launches or Python."""
    SYNCHRONIZATION = 1
    """The host waited for a device, and has to come back first."""
    DATA_LOADING = 2
    """The host waits for the next batch, or loads it."""
    COMMUNICATION_OF_OTHERS = 3
    """Its next work waits for another GPU, rank or stream."""
    KERNEL_TO_KERNEL = 4
    """The next work was launched already; the device takes its time to start it."""
    GARBAGE_COLLECTION = 5
    """Python collects garbage."""
    NOTHING_LAUNCHED = 6
    """Nothing follows, the host itself waits in Python, or the recording does not tell what it
    does."""
    PROFILER = 7
    """The profiler's own overhead."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuIdle:
    """The idle time of one GPU.

    Attributes:
        gaps: Its gaps, from the start of the trace to its end.
        causes: Per :class:`GpuCause` when it holds; disjoint, together all gaps.
        working: When it works.
        before: Per gap the row of ``trace.device_work`` that ended last before it, -1 for none.
        after: Per gap the row that ends it, -1 for none.
    """

    gaps: Gaps
    causes: tuple[Intervals, ...]
    working: Intervals
    before: Int64
    after: Int64


@per_trace
def gpu_idle(trace: Trace) -> dict[int, GpuIdle]:
    """The idle time of every GPU that ran work, by its number; under
    :data:`torch_tb_profiler.analysis.idle.resources.NO_GPU` where the recording numbers none. Empty
    where it has no device work."""
    if trace.device_work.is_empty():
        return {}
    return {gpu: _of_gpu(trace, gpu) for gpu in gpus_used(trace) or [NO_GPU]}


def _of_gpu(trace: Trace, gpu: int) -> GpuIdle:
    work = trace.device_work
    rows = np.flatnonzero(indices(work["device"]) == gpu)
    start = work["start_ns"].to_numpy()[rows]
    end = start + work["dur_ns"].to_numpy()[rows]
    working = union(start, end)
    idle = gaps_between(trace, working, rows)
    threads = _feeding(trace, rows)
    causes = causes_of(trace, idle, threads).intervals
    launched = _launched(trace, gpu, idle, causes[Cause.DEVICE])
    others = _others(trace, gpu, rows, causes, threads)
    until = working.end_ns[-1:]  # none where all work has no length
    lasts = Intervals(np.full_like(until, trace.meta.start_ns), until)
    waited = intersect(causes[Cause.PYTHON], waited_in_python(trace, idle))
    parts = dict(_parts(trace, causes, launched, others, subtract(lasts, waited)))
    before, after = _neighbours(idle, rows, start, end)
    return GpuIdle(idle, tuple(parts[cause] for cause in GpuCause), working, before, after)


def _parts(
    trace: Trace,
    causes: tuple[Intervals, ...],
    launched: Intervals,
    others: Intervals,
    follows: Intervals,
) -> list[tuple[GpuCause, Intervals]]:
    """The causes of one GPU, from those of its gaps.

    Args:
        trace: The recording.
        causes: Per :class:`Cause`.
        launched: What of ``Cause.DEVICE`` waits for something elsewhere.
        others: What of the host's causes does.
        follows: When work of the GPU follows, and the host does not wait in Python for it.
    """
    of_host = (Cause.AFTER_WAIT, Cause.LOADING, Cause.LONG_CALL, Cause.HOST, Cause.PYTHON)
    late = union_all(*(causes[cause] for cause in (*of_host, Cause.UNRECORDED)))
    collected = intersect(late, garbage_collection(trace))
    taken = union_all(collected, others)
    waited = union_all(causes[Cause.BLOCKED], causes[Cause.AFTER_WAIT])
    busy_host = union_all(*(causes[c] for c in (Cause.LONG_CALL, Cause.HOST, Cause.PYTHON)))
    unrecorded = union_all(causes[Cause.UNRECORDED], subtract(busy_host, follows))
    return [
        (GpuCause.LAUNCH_BOUND, subtract(intersect(busy_host, follows), taken)),
        (GpuCause.SYNCHRONIZATION, subtract(waited, taken)),
        (GpuCause.DATA_LOADING, subtract(causes[Cause.LOADING], taken)),
        (GpuCause.COMMUNICATION_OF_OTHERS, union_all(launched, subtract(others, collected))),
        (GpuCause.KERNEL_TO_KERNEL, subtract(causes[Cause.DEVICE], launched)),
        (GpuCause.GARBAGE_COLLECTION, collected),
        (GpuCause.NOTHING_LAUNCHED, subtract(unrecorded, taken)),
        (GpuCause.PROFILER, causes[Cause.PROFILER]),
    ]


def _feeding(trace: Trace, rows: Int64) -> dict[int, HostThread]:
    """The threads that may feed a GPU, by track: all but those of processes that launch work, but
    none of its."""
    threads = host_threads(trace)
    process = indices(trace.tracks.sort("track")["process"])
    track = indices(trace.slices["track"])
    launch = indices(trace.device_work["launch"])
    of_gpu = np.unique(process[track[launch[rows][launch[rows] >= 0]]])
    of_others = np.setdiff1d(process[track[launch[launch >= 0]]], of_gpu)
    if not len(of_gpu):
        return threads
    return {row: thread for row, thread in threads.items() if process[row] not in of_others}


def _launched(trace: Trace, gpu: int, idle: Gaps, device: Intervals) -> Intervals:
    """What of the time in which the next work was launched already waits for something elsewhere:
    a recorded wait of a stream; and of stretches of :data:`LONG_NS` or more those behind the wait
    for an event, and what overlaps communication of other GPUs."""
    long = device.end_ns - device.start_ns >= LONG_NS
    gap = np.searchsorted(idle.start_ns, device.start_ns, "right") - 1
    ordered = long & after_event_wait(trace, idle)[gap]
    stretches = Intervals(device.start_ns[long], device.end_ns[long])
    return union_all(
        intersect(device, waits_of_devices(trace).get(gpu, empty())),
        Intervals(device.start_ns[ordered], device.end_ns[ordered]),
        intersect(stretches, _communication_beside(trace, gpu)),
    )


def _others(
    trace: Trace,
    gpu: int,
    rows: Int64,
    causes: tuple[Intervals, ...],
    threads: dict[int, HostThread],
) -> Intervals:
    """What of the time in which the host was late it spent on collectives: all that a thread which
    launches to this GPU ran itself, and any where the host waits, runs nothing but Python, or
    nothing is recorded of it; where it waits, also those of other GPUs."""
    launch = indices(trace.device_work["launch"])[rows]
    tracks = np.unique(trace.slices["track"].to_numpy()[launch[launch >= 0]]).astype(np.int64)
    launching = together([threads[track] for track in tracks.tolist() if track in threads])
    waiting = union_all(causes[Cause.BLOCKED], intersect(causes[Cause.AFTER_WAIT], launching.waits))
    silent = union_all(waiting, causes[Cause.PYTHON], causes[Cause.UNRECORDED])
    return union_all(
        intersect(causes[Cause.HOST], host_collectives_of(trace, tracks)),
        intersect(silent, host_collectives(trace)),
        intersect(waiting, _communication_beside(trace, gpu)),
    )


def _communication_beside(trace: Trace, gpu: int) -> Intervals:
    """When GPUs other than this one communicate."""
    of_devices = communication_of_devices(trace)
    return union_all(empty(), *(part for device, part in of_devices.items() if device != gpu))


def _neighbours(idle: Gaps, rows: Int64, start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Per gap the work that ends where it starts, and the first that starts where it ends."""
    filled = end > start
    rows, start, end = rows[filled], start[filled], end[filled]
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    after = np.searchsorted(start[by_start], idle.end_ns)
    before = np.searchsorted(end[by_end], idle.start_ns, "right") - 1
    follows, precedes = after < len(rows), before >= 0
    return (
        np.where(precedes, np.append(rows[by_end], -1)[before], -1),
        np.where(follows, np.append(rows[by_start], -1)[after], -1),
    )
