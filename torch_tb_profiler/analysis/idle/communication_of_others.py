"""When one GPU waits for something other than its own host: other GPUs, ranks or streams.

Definitions: ``docs/views-idle.md#causes``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, indices_at
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.gaps import Gaps
from torch_tb_profiler.analysis.idle.host_threads import HostThread, merge_threads
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    HOST_COMMUNICATION_CATEGORIES,
    kernel_kinds,
)
from torch_tb_profiler.analysis.recording.stated_texts import copy_texts
from torch_tb_profiler.knowledge.copies import direction
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LONG_NS = 20_000
"""Launched work that has not started for so long, on a GPU that runs nothing, waits for something
elsewhere: starting the next kernel takes a GPU a few microseconds."""

_DEVICE_WAITS = re.compile(r"(notify|event|stream)[ _]?wait(?! value)", re.IGNORECASE)
_EVENT_WAIT_CALLS = re.compile(
    r"(cuda|cu|hip|musa|mu)StreamWait(Event|Value)\w*|(AscendCL@)?aclrtStreamWaitEvent",
    re.IGNORECASE,
)
_MPI_CALLS = re.compile(
    r"P?MPI_([BRS]?send|M?recv|Sendrecv|Wait|M?probe|Barrier|Bcast|(All)?reduce|(All)?gather|Scatter"
    r"|Alltoall|(Ex)?scan|Win_fence)\w*",
    re.IGNORECASE,
)
"""Calls of MPI that return when others have done their part."""


def launched_behind_others(trace: Trace, gpu: int, idle: Gaps, launched: Intervals) -> Intervals:
    """Time in which the next work was launched already and waits for others: in a recorded wait of
    a stream; and of stretches of :data:`LONG_NS` or more those behind a wait for an event, and what
    overlaps communication of other GPUs.

    Args:
        trace: The recording.
        gpu: Number of the GPU.
        idle: Its gaps.
        launched: When the next work was launched already.
    """
    long = launched.end_ns - launched.start_ns >= LONG_NS
    gap = np.searchsorted(idle.start_ns, launched.start_ns, "right") - 1
    behind_event = long & _follows_event_wait(trace, idle)[gap]
    return union_all(
        intersect(launched, _device_waits(trace).get(gpu, empty())),
        _select(launched, behind_event),
        while_others_communicate(trace, gpu, _select(launched, long)),
    )


def late_for_communication(
    trace: Trace,
    gpu: int,
    rows: Int64,
    by_cause: Mapping[IdleCause, Intervals],
    threads: Mapping[int, HostThread],
) -> Intervals:
    """Time in which the host is late because of collectives: those on a thread that launches to
    this GPU, and on any thread while the host waits, runs Python alone, or nothing is recorded of
    it; while it waits, also those of other GPUs.

    Args:
        trace: The recording.
        gpu: Number of the GPU.
        rows: Its rows of ``trace.device_work``.
        by_cause: What the host did in its gaps.
        threads: The threads that may feed it, by track.
    """
    launch = indices_at(trace.device_work["launch"], rows)
    tracks = distinct_values(trace.slices["track"].to_numpy()[launch[launch >= 0]]).astype(np.int64)
    launching = merge_threads([threads[track] for track in tracks.tolist() if track in threads])
    after_wait = intersect(by_cause[IdleCause.AFTER_WAIT], launching.waits)
    waiting = union_all(by_cause[IdleCause.BLOCKED], after_wait)
    without_operators = union_all(
        waiting, by_cause[IdleCause.PYTHON], by_cause[IdleCause.UNRECORDED]
    )
    return union_all(
        intersect(by_cause[IdleCause.HOST], _host_collectives_on(trace, tracks)),
        intersect(without_operators, _host_collectives(trace)),
        while_others_communicate(trace, gpu, waiting),
    )


def _select(intervals: Intervals, rows: Bools) -> Intervals:
    return Intervals(intervals.start_ns[rows], intervals.end_ns[rows])


def while_others_communicate(trace: Trace, gpu: int, time: Intervals) -> Intervals:
    """The part of some time in which GPUs other than this one communicate."""
    some, several = _communication_of_devices(trace)
    own = _communication_by_device(trace).get(gpu, empty())
    return union_all(intersect(time, several), subtract(intersect(time, some), own))


@per_trace
def _communication_of_devices(trace: Trace) -> tuple[Intervals, Intervals]:
    """When any device communicates, and when several do."""
    parts = _communication_by_device(trace).values()
    starts, ends = (
        np.sort(np.concatenate([_NONE, *(edges[side] for edges in parts)])) for side in (0, 1)
    )
    # The second of them runs from each start but the first until the end before the last.
    return union(starts, ends), union(starts[1:], ends[:-1])


_NONE = np.empty(0, np.int64)


@per_trace
def _communication_by_device(trace: Trace) -> dict[int, Intervals]:
    """Per device when it ran communication kernels or copied to or from another device."""
    work = trace.device_work
    copies = np.flatnonzero(work["category"].to_numpy() == Category.MEMCPY)
    texts = copy_texts(trace, work[copies])
    is_between = [
        "PtoP" in (direction(name), direction(stated))
        for name, stated in zip(texts.names, texts.stated, strict=True)
    ]
    peer_copies = copies[np.array(is_between, np.bool_)[texts.index]]
    is_chosen = kernel_kinds(trace).is_communication.copy()
    is_chosen[peer_copies] = True
    rows = np.flatnonzero(is_chosen)
    return _union_by_device(indices(work["device"])[rows], work[rows])


@per_trace
def _device_waits(trace: Trace) -> dict[int, Intervals]:
    """Per device when a recorded row of it says that a stream waited for an event or a rank."""
    slices = trace.slices.filter(pl.col("category") == Category.DEVICE_SYNC)
    names = slices["name_code"].to_numpy()
    waiting = codes.names_match(trace, names, lambda name: _DEVICE_WAITS.search(name) is not None)
    slices = slices.filter(pl.Series(waiting))
    device = indices(trace.tracks.sort("track")["device"])[slices["track"].to_numpy()]
    return _union_by_device(device, slices)


def _union_by_device(device: Int64, rows: pl.DataFrame) -> dict[int, Intervals]:
    start = rows["start_ns"].to_numpy()
    end = start + rows["dur_ns"].to_numpy()
    return {
        number: union(start[device == number], end[device == number])
        for number in distinct_values(device).tolist()
    }


@per_trace
def _host_collectives(trace: Trace) -> Intervals:
    """When the host itself communicated: collectives of gloo and others, calls of MPI."""
    return _union_of_slices(trace, _collective_slices(trace))


def _host_collectives_on(trace: Trace, tracks: Int64) -> Intervals:
    """The same of some threads alone."""
    rows = _collective_slices(trace)
    return _union_of_slices(trace, rows[np.isin(trace.slices["track"].to_numpy()[rows], tracks)])


@per_trace
def _collective_slices(trace: Trace) -> Int64:
    """The host's slices that are collectives or calls of MPI."""
    hosts = np.flatnonzero(
        np.isin(trace.slices["category"].to_numpy(), HOST_COMMUNICATION_CATEGORIES)
    )
    names = trace.slices["name_code"].to_numpy()[hosts]
    is_mpi = codes.names_match(trace, names, lambda name: _MPI_CALLS.fullmatch(name) is not None)
    return np.union1d(hosts[is_mpi], timed_on_host(trace))


def _union_of_slices(trace: Trace, rows: Int64) -> Intervals:
    start = trace.slices["start_ns"].to_numpy()[rows]
    return union(start, start + trace.slices["dur_ns"].to_numpy()[rows])


def _follows_event_wait(trace: Trace, idle: Gaps) -> Bools:
    """Per gap whether the call that launched what ends it was the first launch of its thread since
    that thread made a stream wait for an event.

    Only where ranks or devices communicate: elsewhere there is nothing to wait for.
    """
    follows = np.zeros(len(idle.launch), np.bool_)
    if not kernel_kinds(trace).is_communication.any():
        return follows
    waits, launches = _event_wait_calls(trace), _launch_calls(trace)
    last_wait = np.searchsorted(waits, idle.launch) - 1
    known = (idle.launch >= 0) & (last_wait >= 0)
    launch, wait = idle.launch[known], waits[last_wait[known]]
    # Slices are in order of track and time, so that ids of one thread are in order of time.
    track = trace.slices["track"].to_numpy()
    before = np.append(launches, -1)[np.searchsorted(launches, launch) - 1]
    follows[known] = (track[wait] == track[launch]) & (wait > before)
    return follows


@per_trace
def _event_wait_calls(trace: Trace) -> Int64:
    """The calls that make a stream wait for an event, in order of id."""
    calls = np.flatnonzero(trace.slices["category"].to_numpy() == Category.RUNTIME)
    names = trace.slices["name_code"].to_numpy()[calls]
    waiting = codes.names_match(
        trace, names, lambda name: _EVENT_WAIT_CALLS.fullmatch(name) is not None
    )
    return calls[waiting]


@per_trace
def _launch_calls(trace: Trace) -> Int64:
    return distinct_values(indices(trace.device_work["launch"].drop_nulls()))
