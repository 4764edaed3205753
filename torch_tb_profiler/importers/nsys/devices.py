"""The GPUs of an export: one number for each, and what is told of it.

``deviceId`` counts the GPUs that one process sees; two processes may call different GPUs 0. The
number of a GPU in the trace is the one it has in its machine, where the export tells it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import host_of, pid_of
from torch_tb_profiler.importers.nsys.text import shown
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.info import DeviceInfo
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES

GPUS = "TARGET_INFO_GPU"
SEEN = "TARGET_INFO_CUDA_DEVICE"
CONTEXTS = "TARGET_INFO_CUDA_CONTEXT_INFO"
NULL_STREAMS = "TARGET_INFO_CUDA_NULL_STREAM"
"""Holds the contexts in exports of before schema 3.7."""

_GPU_COLUMNS = (
    "vmId",
    "id",
    "name",
    "totalMemory",
    "smCount",
    "uuid",
    "cuDevice",
    "maxRegistersPerBlock",
    "maxShmemPerBlock",
    "maxShmemPerBlockOptin",
    "maxShmemPerSm",
    "maxRegistersPerSm",
    "threadsPerWarp",
    "maxWarpsPerSm",
    "maxThreadsPerBlock",
    "computeMajor",
    "computeMinor",
)

MAX_NAME = 200

_Gpu = dict[str, Any]
_HostGpu = tuple[int | None, int]
"""Machine (None: not told) and number of a GPU there."""


@dataclass(slots=True)
class DeviceNumbers:
    """Which number each GPU has in the trace.

    Attributes:
        names: Name of a GPU by its number, where it is told.
        seen: (process id, ``deviceId``) → number in the machine and multiprocessors, or
            :data:`ABSENT`.
        contexts: (process id, ``contextId``) → ``deviceId``.
    """

    names: dict[int, str] = field(default_factory=dict)
    seen: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    contexts: dict[tuple[int, int], int] = field(default_factory=dict)
    _gpus: dict[_HostGpu, _Gpu] = field(default_factory=dict)
    _numbers: dict[_HostGpu, int] = field(default_factory=dict)
    _infos: dict[int, DeviceInfo] = field(default_factory=dict)

    def of(self, global_pids: Int64, device_ids: Int64) -> Int64:
        """Per ``deviceId`` of a process the number of the GPU, :data:`ABSENT` for none."""
        (pids, devices), place = distinct_rows(global_pids, device_ids)
        pairs = zip(pids.tolist(), devices.tolist(), strict=True)
        return np.array([self._number(pid, device) for pid, device in pairs], np.int64)[place]

    def of_contexts(self, global_pids: Int64, contexts: Int64, device_ids: Int64) -> Int64:
        """Per context of a process the number of the GPU. The rows of synchronisations name a
        ``deviceId`` of 0 whatever the GPU: it counts only for contexts nothing else is known of.
        """
        (pids, known, devices), place = distinct_rows(global_pids, contexts, device_ids)
        numbers = [
            self.contexts.get((pid_of(pid), context), device)
            for pid, context, device in zip(
                pids.tolist(), known.tolist(), devices.tolist(), strict=True
            )
        ]
        return self.of(pids, np.array(numbers, np.int64))[place]

    def learn_contexts(self, global_pids: Int64, contexts: Int64, device_ids: Int64) -> None:
        """Take from work on devices which context is one of which ``deviceId``."""
        rows, _ = distinct_rows(global_pids, contexts, device_ids)
        for pid, context, device in zip(*(row.tolist() for row in rows), strict=True):
            if ABSENT not in (context, device):
                self.contexts.setdefault((pid_of(pid), context), device)

    def sm_counts(self, numbers: Int64) -> Float64:
        """Per number of a GPU how many multiprocessors it has, NaN where that is not told."""
        counts = {number: info.sm_count for number, info in self._infos.items() if info.sm_count}
        table = np.full(MAX_DEVICES + 1, np.nan)
        for number, count in counts.items():
            table[number] = count
        return table[np.where((numbers >= 0) & (numbers < MAX_DEVICES), numbers, MAX_DEVICES)]

    def declared(self) -> tuple[DeviceInfo, ...]:
        """What is told of each GPU."""
        return tuple(self._infos[number] for number in sorted(self._infos))

    def of_machine(self, gpu: int) -> int:
        """The number of a GPU by that of its machine, where no machine is told."""
        known = (key for keys in (self._gpus, self._numbers) for key in keys if key[1] == gpu)
        return self._numbered(next(known, (None, gpu)))

    def _number(self, global_pid: int, device: int) -> int:
        if not 0 <= device < MAX_DEVICES:
            return ABSENT
        host = host_of(global_pid) if global_pid != ABSENT else None
        gpu, sm_count = self.seen.get((pid_of(global_pid), device), (ABSENT, ABSENT))
        key = self._gpu_key(host, gpu) if gpu != ABSENT else self._by_ordinal(host, device)
        number = self._numbered(key or (host, gpu if gpu != ABSENT else device))
        if number not in self._infos and sm_count > 0 and number != ABSENT:
            self._infos[number] = DeviceInfo(device=number, sm_count=sm_count)
        return number

    def _gpu_key(self, host: int | None, gpu: int) -> _HostGpu | None:
        return next((key for key in ((host, gpu), (None, gpu)) if key in self._gpus), None)

    def _by_ordinal(self, host: int | None, device: int) -> _HostGpu | None:
        """The GPU that CUDA calls so where a process sees all of them."""
        for key, gpu in self._gpus.items():
            if key[0] in (host, None) and gpu["cuDevice"] == device:
                return key
        known = self._gpu_key(host, device)
        return known if known is not None and self._gpus[known]["cuDevice"] is None else None

    def _numbered(self, key: _HostGpu) -> int:
        """The number of the GPU in its machine, or the first that is free where another machine
        has one of that number."""
        if key not in self._numbers:
            taken = set(self._numbers.values())
            wanted = key[1] if 0 <= key[1] < MAX_DEVICES and key[1] not in taken else None
            free = (number for number in range(MAX_DEVICES) if number not in taken)
            self._numbers[key] = next(free, ABSENT) if wanted is None else wanted
        return self._numbers[key]

    def declare(self, gpu: _Gpu) -> None:
        """Take in a row of :data:`GPUS`; the first one of a GPU counts."""
        key = (host_of(gpu["vmId"]) if gpu["vmId"] is not None else None, gpu["id"])
        if key in self._gpus:
            return
        self._gpus[key] = gpu
        number = self._numbered(key)
        if number == ABSENT:
            return
        self._infos[number] = _described(number, gpu)
        if gpu["name"]:
            self.names[number] = gpu["name"]


def read_devices(database: Database) -> DeviceNumbers:
    """The GPUs of the recorded machines, and which of them each process sees."""
    devices = DeviceNumbers()
    gpus = _read_gpus(database)
    for gpu in gpus:
        devices.declare(gpu)
    by_uuid = {gpu["uuid"]: gpu["id"] for gpu in gpus if gpu["uuid"]}
    columns = ("gpuId", "cudaId", "pid", "uuid", "numMultiprocessors")
    for told, ordinal, pid, uuid, count in _rows(database, SEEN, columns):
        gpu_id = by_uuid.get(_bare(uuid), told) if isinstance(uuid, str) else told
        if isinstance(gpu_id, int) and isinstance(ordinal, int) and isinstance(pid, int):
            sm_count = count if isinstance(count, int) else ABSENT
            devices.seen.setdefault((pid, ordinal), (gpu_id, sm_count))
    for table in (CONTEXTS, NULL_STREAMS):
        for pid, context, device in _rows(database, table, ("processId", "contextId", "deviceId")):
            if isinstance(pid, int) and isinstance(context, int) and isinstance(device, int):
                devices.contexts.setdefault((pid, context), device)
    return devices


def _rows(database: Database, table: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return database.rows(table, columns) if table in database.tables else []


def _read_gpus(database: Database) -> list[_Gpu]:
    """The rows of :data:`GPUS` that name a GPU, by machine and number."""
    gpus: list[_Gpu] = []
    for row in _rows(database, GPUS, _GPU_COLUMNS)[:MAX_DEVICES]:
        gpu = dict(zip(_GPU_COLUMNS, row, strict=True))
        for column, value in gpu.items():
            of_type = str if column in ("name", "uuid") else int
            gpu[column] = value if isinstance(value, of_type) else None
        if gpu["name"]:
            gpu["name"] = shown(gpu["name"])[:MAX_NAME]
        gpu["uuid"] = _bare(gpu["uuid"])
        if gpu["id"] is not None:
            gpus.append(gpu)
    return sorted(gpus, key=lambda gpu: (gpu["vmId"] or 0, gpu["id"]))


def _bare(uuid: str | None) -> str | None:
    """A UUID without the word that some tools put before it."""
    return uuid.lower().removeprefix("gpu-") if uuid else None


def _described(number: int, gpu: _Gpu) -> DeviceInfo:
    warps, warp = gpu["maxWarpsPerSm"], gpu["threadsPerWarp"]
    values = {
        "memory_bytes": gpu["totalMemory"],
        "compute_major": gpu["computeMajor"],
        "compute_minor": gpu["computeMinor"],
        "sm_count": gpu["smCount"],
        "max_threads_per_sm": warps * warp if warps and warp else None,
        "max_threads_per_block": gpu["maxThreadsPerBlock"],
        "registers_per_sm": gpu["maxRegistersPerSm"],
        "registers_per_block": gpu["maxRegistersPerBlock"],
        "warp_size": warp,
        "shared_memory_per_sm_bytes": gpu["maxShmemPerSm"],
        "shared_memory_per_block_bytes": gpu["maxShmemPerBlock"],
        "shared_memory_per_block_optin_bytes": gpu["maxShmemPerBlockOptin"],
    }
    sound = {
        key: value
        for key, value in values.items()
        if isinstance(value, int) and 0 <= value <= MAX_BYTES
    }
    return DeviceInfo(device=number, name=gpu["name"], **sound)
