"""When something else than this GPU and its host was waited for: other GPUs, ranks, streams.

Definitions: ``docs/views-idle.md#causes``.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.idle.gaps import Gaps
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    HOST_COMMUNICATION_CATEGORIES,
    kernel_kinds,
)
from torch_tb_profiler.knowledge.copies import direction
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LONG_NS = 20_000
"""Work that was launched and does not start for so long, on a GPU that runs nothing, waits for
something elsewhere: to start the next kernel takes a GPU a few microseconds."""

_WAITS_ON_DEVICE = re.compile(r"(notify|event|stream)[ _]?wait(?! value)", re.IGNORECASE)
_WAITS_FOR_EVENT = re.compile(
    r"(cuda|cu|hip|musa|mu)StreamWait(Event|Value)\w*|(AscendCL@)?aclrtStreamWaitEvent",
    re.IGNORECASE,
)
_MPI = re.compile(
    r"P?MPI_([BRS]?send|M?recv|Sendrecv|Wait|M?probe|Barrier|Bcast|(All)?reduce|(All)?gather|Scatter"
    r"|Alltoall|(Ex)?scan|Win_fence)\w*",
    re.IGNORECASE,
)
"""Calls of MPI that return when others have done their part."""


@per_trace
def communication_of_devices(trace: Trace) -> dict[int, Intervals]:
    """Per device when it ran communication kernels or copied to or from another device."""
    work = trace.device_work
    device = indices(work["device"])
    names = work["name_code"].to_numpy()
    between = codes.of_names(trace, names, lambda name: direction(name) == "PtoP", np.bool_)
    between &= work["category"].to_numpy() == Category.MEMCPY
    rows = np.flatnonzero(kernel_kinds(trace).is_communication | between)
    start = work["start_ns"].to_numpy()[rows]
    end = start + work["dur_ns"].to_numpy()[rows]
    return {
        number: union(start[device[rows] == number], end[device[rows] == number])
        for number in np.unique(device[rows]).tolist()
    }


@per_trace
def waits_of_devices(trace: Trace) -> dict[int, Intervals]:
    """Per device when a recorded row of it says that a stream waited for an event or a rank."""
    slices = trace.slices.filter(pl.col("category") == Category.DEVICE_SYNC)
    names = slices["name_code"].to_numpy()
    waiting = codes.of_names(
        trace, names, lambda name: _WAITS_ON_DEVICE.search(name) is not None, np.bool_
    )
    slices = slices.filter(pl.Series(waiting))
    device = indices(trace.tracks.sort("track")["device"])[slices["track"].to_numpy()]
    start = slices["start_ns"].to_numpy()
    end = start + slices["dur_ns"].to_numpy()
    return {
        number: union(start[device == number], end[device == number])
        for number in np.unique(device).tolist()
    }


@per_trace
def host_collectives(trace: Trace) -> Intervals:
    """When the host itself communicated: collectives of gloo and others, calls of MPI."""
    return _ran(trace, _on_host(trace))


def host_collectives_of(trace: Trace, tracks: Int64) -> Intervals:
    """The same of some threads alone."""
    rows = _on_host(trace)
    return _ran(trace, rows[np.isin(trace.slices["track"].to_numpy()[rows], tracks)])


@per_trace
def _on_host(trace: Trace) -> Int64:
    hosts = np.flatnonzero(
        np.isin(trace.slices["category"].to_numpy(), HOST_COMMUNICATION_CATEGORIES)
    )
    names = trace.slices["name_code"].to_numpy()[hosts]
    of_mpi = codes.of_names(trace, names, lambda name: _MPI.fullmatch(name) is not None, np.bool_)
    return np.union1d(hosts[of_mpi], timed_on_host(trace))


def _ran(trace: Trace, rows: Int64) -> Intervals:
    start = trace.slices["start_ns"].to_numpy()[rows]
    return union(start, start + trace.slices["dur_ns"].to_numpy()[rows])


def after_event_wait(trace: Trace, idle: Gaps) -> Bools:
    """Per gap whether the call that launched what ends it was the first launch of its thread since
    that thread told a stream to wait for an event.

    Only where ranks or devices communicate: elsewhere there is nothing to wait for.
    """
    begins = np.zeros(len(idle.launch), np.bool_)
    if not kernel_kinds(trace).is_communication.any():
        return begins
    waits, launches = _event_waits(trace), _launches(trace)
    last_wait = np.searchsorted(waits, idle.launch) - 1
    known = (idle.launch >= 0) & (last_wait >= 0)
    launch, wait = idle.launch[known], waits[last_wait[known]]
    # Slices are in order of track and time, so that ids of one thread are in order of time.
    track = trace.slices["track"].to_numpy()
    before = np.append(launches, -1)[np.searchsorted(launches, launch) - 1]
    begins[known] = (track[wait] == track[launch]) & (wait > before)
    return begins


@per_trace
def _event_waits(trace: Trace) -> Int64:
    """The calls that tell a stream to wait for an event, in order of id."""
    calls = np.flatnonzero(trace.slices["category"].to_numpy() == Category.RUNTIME)
    names = trace.slices["name_code"].to_numpy()[calls]
    waiting: Bools = codes.of_names(
        trace, names, lambda name: _WAITS_FOR_EVENT.fullmatch(name) is not None, np.bool_
    )
    return calls[waiting]


@per_trace
def _launches(trace: Trace) -> Int64:
    return np.unique(indices(trace.device_work["launch"].drop_nulls()))
