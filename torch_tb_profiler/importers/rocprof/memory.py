"""Memory that a process allocated from the runtime and released."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.memory_usage import running_totals
from torch_tb_profiler.importers.nsys.parts import SlicePart, build_table, empty_slices
from torch_tb_profiler.importers.rocprof.assembly import RocprofAssembly
from torch_tb_profiler.importers.rocprof.recording import Rows
from torch_tb_profiler.trace.columns import ABSENT, Int64

_CPU, _CUDA = 0, 1
"""``c10::DeviceType``; programs built for HIP use CUDA's."""


def read_memory(assembly: RocprofAssembly, recording: int) -> SlicePart:
    """Allocations and releases, with the memory in use on each device after them. Memory that was
    allocated before the recording began is in no total."""
    rows = assembly.take(recording, "allocations")
    size = len(rows["time"])
    order = np.argsort(rows["time"], kind="stable")
    rows = {name: values[order] for name, values in rows.items()}
    amount, agent = _amounts(rows)
    device = assembly.gpus.numbers(recording, agent)
    device = np.where(device == ABSENT, -1, device)
    signed = np.where(rows["is_release"] == 1, -amount, amount)
    threads = assembly.tracks.thread_numbers(recording, rows["pid"], rows["thread"])
    table = build_table(
        "memory",
        size,
        track=assembly.tracks.thread_tracks(threads),
        time_ns=rows["time"],
        device_type=np.where(device < 0, _CPU, _CUDA),
        device=device,
        address=rows["address"],
        bytes=signed,
        total_allocated_bytes=running_totals(rows["time"], device, signed),
        is_oom=np.zeros(size, np.int8),
    )
    return SlicePart(empty_slices(), {"memory": table})


def _amounts(rows: Rows) -> tuple[Int64, Int64]:
    """The bytes and the agent of each event. A release may have neither: it releases what was
    allocated last at its address, or 0 bytes if that is not in the recording."""
    amount, agent = rows["bytes"].copy(), rows["agent"].copy()
    live: dict[int, tuple[int, int]] = {}
    columns = (rows["address"], amount, agent, rows["is_release"])
    for row, (address, size, owner, is_release) in enumerate(
        zip(*(each.tolist() for each in columns), strict=True)
    ):
        if not is_release:
            live[address] = size, owner
            continue
        size_there, owner_there = live.pop(address, (0, ABSENT))
        if size in (0, ABSENT):
            amount[row] = size_there
        if owner_there != ABSENT:
            agent[row] = owner_there
    return np.where(amount == ABSENT, 0, amount), agent
