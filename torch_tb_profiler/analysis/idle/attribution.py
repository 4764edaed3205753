"""Every idle moment attributed to exactly one cause, in two scopes: all devices, or one GPU.

Both scopes take the same steps: the gaps are cut (:mod:`torch_tb_profiler.analysis.idle.gaps`),
each gap is split where the launch that ends it returns, and what the launching thread does until
then decides the cause (:class:`torch_tb_profiler.analysis.idle.causes.IdleCause`). One GPU then
gets the causes that only it has. Definitions: ``docs/metrics.md#idle-devices``,
``docs/views-idle.md#causes``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, rows_of_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, indices_at
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.causes import (
    GPU_CAUSES,
    HOST_CAUSES,
    LAUNCHED_CAUSES,
    IdleCause,
)
from torch_tb_profiler.analysis.idle.communication_of_others import (
    late_for_communication,
    launched_behind_others,
)
from torch_tb_profiler.analysis.idle.gaps import Gaps, adjacent_work, busy, gaps, gaps_between
from torch_tb_profiler.analysis.idle.garbage_collection import garbage_collection
from torch_tb_profiler.analysis.idle.graph_captures import graph_captures
from torch_tb_profiler.analysis.idle.host_threads import (
    PIECE_NS,
    HostThread,
    host_threads,
    merge_threads,
    process_of_track,
)
from torch_tb_profiler.analysis.idle.python_waits import python_waits
from torch_tb_profiler.analysis.idle.resources import NO_GPU, gpus_used
from torch_tb_profiler.analysis.idle.wait_costs import WaitCosts, charge_waits, drained_gaps
from torch_tb_profiler.analysis.idle.waits import Wait, waits
from torch_tb_profiler.knowledge.host_calls import is_profiler_overhead
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

WAITING_NS = 200_000
"""From then on launched work waits for something: the next of a queue starts within some ten
microseconds (recordings of eleven GPU models: at most 30)."""

_BUSY_HOST = (IdleCause.LONG_CALL, IdleCause.HOST, IdleCause.PYTHON)


class IdleCauses(Struct, frozen=True, eq=False):
    """The idle time of all devices together.

    Attributes:
        intervals: Per :class:`IdleCause` when it holds; disjoint, together all gaps. Empty for the
            causes that only one GPU has.
        wait_costs: The stretches of ``IdleCause.AFTER_WAIT`` by wait.
        waits: The table of waits (:func:`torch_tb_profiler.analysis.idle.waits.waits`).
    """

    intervals: tuple[Intervals, ...]
    wait_costs: WaitCosts
    waits: pl.DataFrame


class GpuIdle(Struct, frozen=True, eq=False):
    """The idle time of one GPU.

    Attributes:
        gaps: Its gaps, from the start of the trace to its end.
        causes: When each key of :data:`~torch_tb_profiler.analysis.idle.causes.GPU_CAUSES` holds;
            disjoint, together all gaps.
        before: Per gap the row of ``trace.device_work`` that ended last before it, -1 for none.
        after: Per gap the row that ends it, -1 for none.
    """

    gaps: Gaps
    causes: dict[str, Intervals]
    before: Int64
    after: Int64


@per_trace
def idle_causes(trace: Trace) -> IdleCauses:
    """The causes of the time in which no device works; all empty where the trace has no device
    work."""
    if not len(busy(trace).start_ns):
        none = np.empty(0, np.int64)
        return IdleCauses((empty(),) * len(IdleCause), WaitCosts(none, none, none), waits(trace))
    by_cause, costs = _host_causes(trace, gaps(trace), host_threads(trace))
    intervals = tuple(by_cause.get(cause, empty()) for cause in IdleCause)
    return IdleCauses(intervals, costs, waits(trace))


@per_trace
def gpu_idle(trace: Trace) -> dict[int, GpuIdle]:
    """The idle time of every GPU that ran work, by its number; under
    :data:`torch_tb_profiler.analysis.idle.resources.NO_GPU` where the recording numbers none. Empty
    where it has no device work."""
    if trace.device_work.is_empty():
        return {}
    rows = rows_of_values(indices(trace.device_work["device"]))
    gpus = gpus_used(trace) or [NO_GPU]
    return {gpu: _idle_of_gpu(trace, gpu, rows.get(gpu, _NO_ROWS)) for gpu in gpus}


_NO_ROWS = np.empty(0, np.int64)


def _idle_of_gpu(trace: Trace, gpu: int, rows: Int64) -> GpuIdle:
    work = trace.device_work
    start = work["start_ns"].to_numpy()[rows]
    working = union(start, start + work["dur_ns"].to_numpy()[rows])
    idle = gaps_between(trace, working, rows)
    threads = _threads_feeding(trace, rows)
    by_cause, _ = _host_causes(trace, idle, threads)
    until = working.end_ns[-1:]  # none where all work has no length
    has_next_work = Intervals(np.full_like(until, trace.meta.start_ns), until)
    waiting = intersect(by_cause[IdleCause.PYTHON], python_waits(trace, idle))
    launched = launched_behind_others(
        trace, gpu, idle, union_all(*(by_cause[cause] for cause in LAUNCHED_CAUSES))
    )
    late = late_for_communication(trace, gpu, rows, by_cause, threads)
    _split_causes(trace, by_cause, launched, late, subtract(has_next_work, waiting))
    causes = {
        key: _union_of([by_cause[cause] for cause in parts]) for key, parts in GPU_CAUSES.items()
    }
    return GpuIdle(idle, causes, *adjacent_work(trace, idle, rows))


def _split_causes(
    trace: Trace,
    by_cause: dict[IdleCause, Intervals],
    launched: Intervals,
    late: Intervals,
    follows: Intervals,
) -> None:
    """Move the time of the causes that only one GPU has out of the others.

    Args:
        trace: The recording.
        by_cause: The causes of the gaps of one GPU; changed here.
        launched: What of :data:`LAUNCHED_CAUSES` waits for others.
        late: What of the host's causes is communication.
        follows: When work of the GPU follows, and the host does not wait in Python for it.
    """
    collecting = intersect(
        union_all(*(by_cause[cause] for cause in HOST_CAUSES if cause != IdleCause.BLOCKED)),
        garbage_collection(trace),
    )
    by_cause[IdleCause.GARBAGE_COLLECTION] = collecting
    by_cause[IdleCause.COMMUNICATION_OF_OTHERS] = union_all(launched, subtract(late, collecting))
    for cause in LAUNCHED_CAUSES:
        by_cause[cause] = subtract(by_cause[cause], launched)
    moved = union_all(collecting, late)
    for cause in HOST_CAUSES:
        by_cause[cause] = subtract(by_cause[cause], moved)
    busy_host = union_all(*(by_cause[cause] for cause in _BUSY_HOST))
    by_cause[IdleCause.NOTHING_LAUNCHED] = subtract(busy_host, follows)
    for cause in _BUSY_HOST:
        by_cause[cause] = intersect(by_cause[cause], follows)


def _union_of(parts: list[Intervals]) -> Intervals:
    return parts[0] if len(parts) == 1 else union_all(*parts)


def _threads_feeding(trace: Trace, rows: Int64) -> dict[int, HostThread]:
    """The threads that may feed a GPU, by track: all but those of processes that launch work, but
    none of its.

    Args:
        trace: The recording.
        rows: The GPU's rows of ``trace.device_work``.
    """
    threads, process = host_threads(trace), process_of_track(trace)
    launching = _launching_process(trace)
    of_gpu = set(distinct_values(launching[rows]).tolist()) - {-1}
    of_others = set(distinct_values(launching).tolist()) - {-1} - of_gpu
    if not of_gpu or not of_others:
        return threads
    return {row: thread for row, thread in threads.items() if int(process[row]) not in of_others}


@per_trace
def _launching_process(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the process that launched it, -1 for none that is known."""
    track = indices_at(trace.slices["track"], indices(trace.device_work["launch"]))
    return gather(process_of_track(trace), track)


def _host_causes(
    trace: Trace, idle: Gaps, threads: dict[int, HostThread]
) -> tuple[dict[IdleCause, Intervals], WaitCosts]:
    """The causes that both scopes have: what the host does until it has launched what ends a gap.

    Args:
        trace: The recording; it has device work.
        idle: The gaps.
        threads: The threads that may feed what is idle, by track.

    Returns:
        Per cause when it holds, and ``IdleCause.AFTER_WAIT`` by wait.
    """
    late = idle.host_late
    on_device = subtract(Intervals(idle.start_ns, idle.end_ns), late)
    short = _shorter(on_device, WAITING_NS)
    parts = {
        IdleCause.KERNEL_TO_KERNEL: short,
        IdleCause.WAITING_WORK: subtract(on_device, short),
        IdleCause.PROFILER: intersect(late, _profiler_overhead(trace)),
    }
    rest = subtract(late, parts[IdleCause.PROFILER])
    captures = graph_captures(trace)
    by_track = _gaps_by_thread(trace, idle)
    parts[IdleCause.GRAPH_CAPTURE] = union_all(
        empty(),
        *(
            intersect(intersect(_select(idle, rows), rest), captures[track])
            for track, rows in by_track.items()
            if track in captures
        ),
    )
    rest = subtract(rest, parts[IdleCause.GRAPH_CAPTURE])
    by_thread = [
        _split_by_activity(intersect(_select(idle, rows), rest), threads[track])
        for track, rows in by_track.items()
    ]
    explained = union_all(empty(), *(part for split in by_thread for part in split.values()))
    merged = _merged(trace, threads)
    by_thread.append(_split_by_activity(subtract(rest, explained), merged))
    activities = by_thread[-1].keys()
    for cause in activities:
        parts[cause] = union_all(empty(), *(split[cause] for split in by_thread))
    rest = subtract(rest, union_all(*(parts[cause] for cause in activities)))
    python = intersect(rest, merged.frames)
    pieces = (python, subtract(rest, python))
    launching = _select(idle, idle.launch >= 0)
    between = [intersect(_shorter(piece, PIECE_NS), launching) for piece in pieces]
    parts[IdleCause.PYTHON], parts[IdleCause.UNRECORDED] = map(subtract, pieces, between)
    host, blocked = union_all(parts[IdleCause.HOST], *between), parts[IdleCause.BLOCKED]
    waiting = waits(trace)
    uploads = waiting.filter((pl.col("wait") == Wait.UPLOAD) & pl.col("track").is_in(list(threads)))
    costs = charge_waits(idle, drained_gaps(trace, waiting, idle), host, blocked, uploads)
    parts[IdleCause.AFTER_WAIT] = union(costs.start_ns, costs.end_ns)
    parts[IdleCause.HOST] = subtract(host, parts[IdleCause.AFTER_WAIT])
    parts[IdleCause.BLOCKED] = subtract(blocked, parts[IdleCause.AFTER_WAIT])
    between_work = parts[IdleCause.KERNEL_TO_KERNEL]
    parts[IdleCause.KERNEL_TO_KERNEL] = subtract(between_work, parts[IdleCause.AFTER_WAIT])
    return parts, costs


def _merged(trace: Trace, threads: dict[int, HostThread]) -> HostThread:
    """:func:`merge_threads` of all of them, once for the same threads: most GPUs have the same."""
    known = _merged_threads(trace)
    tracks = tuple(threads)
    if tracks not in known:
        known[tracks] = merge_threads(list(threads.values()))
    return known[tracks]


@per_trace
def _merged_threads(_trace: Trace) -> dict[tuple[int, ...], HostThread]:
    return {}


def _split_by_activity(time: Intervals, thread: HostThread) -> dict[IdleCause, Intervals]:
    """Some time by what a thread did; of several activities the first counts."""
    split = {}
    for cause, intervals in (
        (IdleCause.BLOCKED, thread.waits),
        (IdleCause.DATA_LOADING, thread.loading),
        (IdleCause.LONG_CALL, thread.long_calls),
        (IdleCause.HOST, thread.operators),
    ):
        split[cause] = intersect(time, intervals)
        time = subtract(time, split[cause])
    return split


def _gaps_by_thread(trace: Trace, idle: Gaps) -> dict[int, Int64]:
    """Per track whose calls end gaps the numbers of these gaps, in order."""
    track = indices_at(trace.slices["track"], idle.launch)
    order = np.argsort(track, kind="stable")
    order = order[track[order] >= 0]
    tracks, first = np.unique(track[order], return_index=True)
    return dict(zip(tracks.tolist(), np.split(order, first)[1:], strict=True))


def _select(idle: Gaps, rows: Bools | Int64) -> Intervals:
    """Some of the gaps."""
    return Intervals(idle.start_ns[rows], idle.end_ns[rows])


@per_trace
def _profiler_overhead(trace: Trace) -> Intervals:
    slices = trace.slices.filter(pl.col("category") == Category.OVERHEAD)
    names = slices["name_code"].to_numpy()
    slices = slices.filter(pl.Series(codes.map_names(trace, names, is_profiler_overhead, np.bool_)))
    start = slices["start_ns"].to_numpy()
    return union(start, start + slices["dur_ns"].to_numpy())


def _shorter(intervals: Intervals, limit_ns: int) -> Intervals:
    """Those shorter than a limit."""
    short = intervals.end_ns - intervals.start_ns < limit_ns
    return Intervals(intervals.start_ns[short], intervals.end_ns[short])
