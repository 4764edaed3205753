"""The GPUs of an export: their numbers in the trace, and their properties.

``deviceId`` counts the GPUs that are visible to a process: device 0 can be different GPUs in two
processes. The number of a GPU in the trace is its number in its machine if the export has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import host_of, pid_of
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import until_nul
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.constant_columns import constant
from torch_tb_profiler.trace.info import DeviceInfo
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES

GPUS = "TARGET_INFO_GPU"
CUDA_DEVICES = "TARGET_INFO_CUDA_DEVICE"
CONTEXTS = "TARGET_INFO_CUDA_CONTEXT_INFO"
NULL_STREAMS = "TARGET_INFO_CUDA_NULL_STREAM"
"""The table of contexts in exports older than schema 3.7."""

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
"""Machine (None: unknown) and number of a GPU in it."""


class DeviceNumbers(Struct):
    """The number of each GPU in the trace.

    Attributes:
        names: Number → name of a GPU, if known.
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

    def device_numbers(self, global_pids: Int64, device_ids: Int64) -> Int64:
        """The GPU number of each ``deviceId`` of a process, :data:`ABSENT` for none."""
        (pids, devices), inverse = distinct_rows(global_pids, device_ids)
        pairs = zip(pids.tolist(), devices.tolist(), strict=True)
        return np.array([self._number(pid, device) for pid, device in pairs], np.int64)[inverse]

    def device_numbers_of_contexts(
        self, global_pids: Int64, contexts: Int64, device_ids: Int64
    ) -> Int64:
        """The GPU number of each context of a process. Rows of synchronizations have ``deviceId`` 0
        for every GPU: it is used only for contexts of which the device is unknown."""
        (pids, known, devices), inverse = distinct_rows(global_pids, contexts, device_ids)
        numbers = [
            self.contexts.get((pid_of(pid), context), device)
            for pid, context, device in zip(
                pids.tolist(), known.tolist(), devices.tolist(), strict=True
            )
        ]
        return self.device_numbers(pids, np.array(numbers, np.int64))[inverse]

    def add_contexts(self, global_pids: Int64, contexts: Int64, device_ids: Int64) -> None:
        """Learn the ``deviceId`` of each context from device work."""
        rows, _ = distinct_rows(global_pids, contexts, device_ids)
        for pid, context, device in zip(*(row.tolist() for row in rows), strict=True):
            if ABSENT not in (context, device):
                self.contexts.setdefault((pid_of(pid), context), device)

    def sm_counts(self, numbers: Int64) -> Float64:
        """The number of multiprocessors of each GPU number, NaN if unknown."""
        counts = {number: info.sm_count for number, info in self._infos.items() if info.sm_count}
        if not counts:
            return constant(np.nan, len(numbers), np.float64)
        table = np.full(MAX_DEVICES + 1, np.nan)
        for number, count in counts.items():
            table[number] = count
        return table[np.where((numbers >= 0) & (numbers < MAX_DEVICES), numbers, MAX_DEVICES)]

    def device_infos(self) -> tuple[DeviceInfo, ...]:
        """The properties of all GPUs."""
        return tuple(self._infos[number] for number in sorted(self._infos))

    def device_number_in_machine(self, gpu: int) -> int:
        """The GPU number of a number in its machine, where the machine is not given."""
        known = (key for keys in (self._gpus, self._numbers) for key in keys if key[1] == gpu)
        return self._assign_number(next(known, (None, gpu)))

    def _number(self, global_pid: int, device: int) -> int:
        if not 0 <= device < MAX_DEVICES:
            return ABSENT
        host = host_of(global_pid) if global_pid != ABSENT else None
        gpu, sm_count = self.seen.get((pid_of(global_pid), device), (ABSENT, ABSENT))
        key = self._gpu_key(host, gpu) if gpu != ABSENT else self._by_ordinal(host, device)
        number = self._assign_number(key or (host, gpu if gpu != ABSENT else device))
        if number not in self._infos and sm_count > 0 and number != ABSENT:
            self._infos[number] = DeviceInfo(device=number, sm_count=sm_count)
        return number

    def _gpu_key(self, host: int | None, gpu: int) -> _HostGpu | None:
        return next((key for key in ((host, gpu), (None, gpu)) if key in self._gpus), None)

    def _by_ordinal(self, host: int | None, device: int) -> _HostGpu | None:
        """The GPU with this CUDA ordinal in a process that sees all GPUs."""
        for key, gpu in self._gpus.items():
            if key[0] in (host, None) and gpu["cuDevice"] == device:
                return key
        known = self._gpu_key(host, device)
        return known if known is not None and self._gpus[known]["cuDevice"] is None else None

    def _assign_number(self, key: _HostGpu) -> int:
        """The number of the GPU in its machine, or the first free number if a GPU of another
        machine has it."""
        if key not in self._numbers:
            taken = set(self._numbers.values())
            wanted = key[1] if 0 <= key[1] < MAX_DEVICES and key[1] not in taken else None
            free = (number for number in range(MAX_DEVICES) if number not in taken)
            self._numbers[key] = next(free, ABSENT) if wanted is None else wanted
        return self._numbers[key]

    def add_gpu(self, gpu: _Gpu) -> None:
        """Add a row of :data:`GPUS`; the first row of a GPU counts."""
        key = (host_of(gpu["vmId"]) if gpu["vmId"] is not None else None, gpu["id"])
        if key in self._gpus:
            return
        self._gpus[key] = gpu
        number = self._assign_number(key)
        if number == ABSENT:
            return
        self._infos[number] = _device_info(number, gpu)
        if gpu["name"]:
            self.names[number] = gpu["name"]


def read_devices(database: Database) -> DeviceNumbers:
    """Read the GPUs of the recorded machines, and which of them each process sees."""
    devices = DeviceNumbers()
    gpus = _read_gpus(database)
    for gpu in gpus:
        devices.add_gpu(gpu)
    by_uuid = {gpu["uuid"]: gpu["id"] for gpu in gpus if gpu["uuid"]}
    columns = ("gpuId", "cudaId", "pid", "uuid", "numMultiprocessors")
    for number, ordinal, pid, uuid, count in _rows(database, CUDA_DEVICES, columns):
        gpu_id = by_uuid.get(_without_prefix(uuid), number) if isinstance(uuid, str) else number
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
    """The rows of :data:`GPUS` that have a GPU number, sorted by machine and number."""
    gpus: list[_Gpu] = []
    for row in _rows(database, GPUS, _GPU_COLUMNS)[:MAX_DEVICES]:
        gpu = dict(zip(_GPU_COLUMNS, row, strict=True))
        for column, value in gpu.items():
            expected_type = str if column in ("name", "uuid") else int
            gpu[column] = value if isinstance(value, expected_type) else None
        if gpu["name"]:
            gpu["name"] = until_nul(gpu["name"])[:MAX_NAME]
        gpu["uuid"] = _without_prefix(gpu["uuid"])
        if gpu["id"] is not None:
            gpus.append(gpu)
    return sorted(gpus, key=lambda gpu: (gpu["vmId"] or 0, gpu["id"]))


def _without_prefix(uuid: str | None) -> str | None:
    """A UUID without the prefix ``GPU-`` that some tools write."""
    return uuid.lower().removeprefix("gpu-") if uuid else None


def _device_info(number: int, gpu: _Gpu) -> DeviceInfo:
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
    valid = {
        key: value
        for key, value in values.items()
        if isinstance(value, int) and 0 <= value <= MAX_BYTES
    }
    return DeviceInfo(device=number, name=gpu["name"], **valid)
