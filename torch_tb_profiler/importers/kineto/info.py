"""The header, validated by :mod:`~torch_tb_profiler.importers.kineto.header_types` →
``TraceInfo``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.info import (
    DeviceInfo,
    JobInfo,
    ProcessGroup,
    ProgramSettings,
    RecordingSettings,
    TraceInfo,
)
from torch_tb_profiler.trace.limits import MAX_RANKS

Header = Mapping[str, Any]

MIN_THREADS_PER_SM = 768
"""GPUs of the last fifteen years have at least this many; torch 2.13's Python exporter writes the
number of SMs under the key of the threads."""

RANK_LIST = re.compile(r"\[?\s*\d{1,8}(\s*,\s*\d{1,8})*\s*\]?")
"""The ranks of a group in on-demand recordings, which write them as text."""

DEVICE_KEYS = {
    "memory_bytes": "totalGlobalMem",
    "compute_major": "computeMajor",
    "compute_minor": "computeMinor",
    "max_threads_per_block": "maxThreadsPerBlock",
    "registers_per_sm": "regsPerMultiprocessor",
    "registers_per_block": "regsPerBlock",
    "warp_size": "warpSize",
    "shared_memory_per_block_bytes": "sharedMemPerBlock",
}
"""Property → its key, for properties with the same key in all releases."""

RECORDER = "torch.profiler"

RECORDING_KEYS = ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules")


def trace_info(header: Header) -> TraceInfo:
    """The trace information in a header.

    Args:
        header: From :func:`~torch_tb_profiler.importers.kineto.header_types.typed_header`.
    """
    declared = header.get("deviceProperties") or header.get("computeProperties") or []
    usage = header.get("ExtraInfo") or {}
    job, version = header.get("distributedInfo"), header.get("schemaVersion")
    return TraceInfo(
        framework=header.get("Framework"),
        recorder=RECORDER,
        recorder_version=None if version is None else str(version),
        host_name=header.get("host_name"),
        cuda_runtime_version=header.get("cuda_runtime_version"),
        cuda_driver_version=header.get("cuda_driver_version"),
        hip_runtime_version=header.get("hip_runtime_version"),
        devices=tuple(_device(index, properties) for index, properties in enumerate(declared)),
        job=_job(job) if job else None,
        process_cpu_pct=_pct(usage.get("Process Cpu Utilization")),
        system_cpu_pct=_pct(usage.get("System Cpu Utilization")),
        settings=msgspec.convert(header.get("program_settings") or {}, set_up(ProgramSettings)),
        recording=RecordingSettings(**{key: _flag(header.get(key)) for key in RECORDING_KEYS}),
    )


def _device(index: int, properties: Header) -> DeviceInfo:
    """One device; without an id, its index counts."""
    sm_count = properties.get("numSms", properties.get("smCount"))
    threads = properties.get("maxThreadsPerMultiprocessor")
    if threads is not None and threads < MIN_THREADS_PER_SM:
        sm_count, threads = sm_count or threads, None
    return DeviceInfo(
        device=properties.get("id", index),
        name=properties.get("name") or None,
        sm_count=sm_count,
        max_threads_per_sm=threads,
        shared_memory_per_sm_bytes=properties.get(
            "sharedMemPerMultiprocessor", properties.get("maxSharedMemoryPerMultiProcessor")
        ),
        shared_memory_per_block_optin_bytes=properties.get(
            "sharedMemPerBlockOptin", properties.get("sharedMemPerBlockOption")
        ),
        **{name: properties.get(key) for name, key in DEVICE_KEYS.items()},
    )


def _job(job: Header) -> JobInfo:
    groups = job.get("pg_config")
    return JobInfo(
        backend=job.get("backend"),
        rank=job.get("rank"),
        world_size=job.get("world_size"),
        group_count=job.get("pg_count"),
        groups=None if groups is None else tuple(_group(group) for group in groups),
        library_version=_version(job.get("nccl_version")),
    )


def _group(group: Header) -> ProcessGroup:
    return ProcessGroup(
        name=_text(group.get("pg_name")),
        description=_text(group.get("pg_desc")),
        uid=_text(group.get("uid")),
        backend=group.get("backend_config"),
        size=group.get("pg_size"),
        ranks=_ranks(group.get("ranks")),
    )


def _ranks(ranks: list[int] | str | None) -> tuple[int, ...] | None:
    if isinstance(ranks, str):
        numbers = re.findall(r"\d+", ranks) if RANK_LIST.fullmatch(ranks.strip()) else []
        ranks = [int(number) for number in numbers if int(number) < MAX_RANKS]
        return tuple(ranks) if ranks and len(ranks) == len(numbers) else None
    return None if ranks is None else tuple(ranks)


def _version(version: str | int | list[int] | None) -> str | int | None:
    """NCCL's version; torch also writes it as a list of its parts."""
    return ".".join(map(str, version)) if isinstance(version, list) else version


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _pct(share: float | None) -> float | None:
    return None if share is None else share * 100


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
