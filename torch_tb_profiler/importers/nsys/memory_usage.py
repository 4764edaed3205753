"""Reads the memory that processes allocated from the driver and released."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.api_calls import ApiCalls
from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.identifiers import main_thread
from torch_tb_profiler.importers.nsys.launches import CallsByCorrelation
from torch_tb_profiler.importers.nsys.parts import SlicePart, build_table, empty_slices
from torch_tb_profiler.importers.nsys.rows import TimedRows, within
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES

USAGE = "CUDA_GPU_MEMORY_USAGE_EVENTS"

RELEASE = 1
"""``memoryOperationType`` of a release."""

HOST_KINDS = (0, 1)
"""``memKind`` of host memory: pageable and pinned."""

_CPU, _CUDA = 0, 1


def read_memory(export: Export, calls: ApiCalls, by_correlation: CallsByCorrelation) -> SlicePart:
    """Read allocations and releases, with the memory in use on each device after them. Memory
    allocated before the recording began is in no total."""
    rows = TimedRows(export.database, USAGE, export.quality)
    columns = rows.columns(
        "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType",
        "correlationId",
    )  # fmt: skip
    pid = columns["globalPid"]
    size = within(columns["bytes"], MAX_BYTES)
    size = np.where(size == ABSENT, 0, size)
    signed = np.where(columns["memoryOperationType"] == RELEASE, -size, size)
    is_host = np.isin(columns["memKind"], HOST_KINDS)
    device = np.where(is_host, -1, export.devices.device_numbers(pid, columns["deviceId"]))
    call = by_correlation.find(pid, columns["correlationId"])
    track = np.append(calls.part.slices.track, -1)[np.where(call == ABSENT, -1, call)]
    track = np.where(track >= 0, track, export.tracks.thread_tracks(main_thread(pid)))
    table = build_table(
        "memory",
        len(rows),
        track=track.astype(np.int32),
        time_ns=rows.start_ns,
        device_type=np.where(is_host, _CPU, _CUDA),
        device=device,
        address=columns["address"],
        bytes=signed,
        total_allocated_bytes=running_totals(rows.start_ns, device, signed),
        is_oom=np.zeros(len(rows), np.int8),
    )
    return SlicePart(empty_slices(), {"memory": table})


def running_totals(time_ns: Int64, device: Int64, signed: Int64) -> Int64:
    """Per row the running total of its device; shifted to be at least 0 if memory allocated before
    the recording is released."""
    total = np.full(len(time_ns), ABSENT)
    (devices,), inverse = distinct_rows(device)
    order = np.lexsort((time_ns, inverse))
    bounds = np.searchsorted(inverse[order], np.arange(len(devices) + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[first:last]
        running = np.cumsum(signed[rows])
        total[rows] = running - min(int(running.min(initial=0)), 0)
    return total
