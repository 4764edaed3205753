"""The top-level keys of an exported trace beside its events: what :class:`TraceInfo` holds of
devices, job and recording, under the keys and in the units of Kineto."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.trace.info import DeviceInfo, JobInfo, ProcessGroup
from torch_tb_profiler.trace.model import TraceMeta

SCHEMA_VERSION = 1
"""Of Kineto's layout, which the events have, too."""


def chrome_header(meta: TraceMeta) -> dict[str, Any]:
    """The keys; what is not known has none."""
    info, recording = meta.info, meta.info.recording
    flags = {name: getattr(recording, name) for name in recording.__struct_fields__}
    header = {
        "schemaVersion": SCHEMA_VERSION,
        "deviceProperties": [_device(device) for device in info.devices] or None,
        "distributedInfo": None if info.job is None else _job(info.job),
        **{name: None if flag is None else int(flag) for name, flag in flags.items()},
        "baseTimeNanoseconds": meta.base_ns,
        "displayTimeUnit": "ms",
    }
    return _known(header)


def _device(device: DeviceInfo) -> dict[str, Any]:
    return _known(
        {
            "id": device.device,
            "name": device.name,
            "totalGlobalMem": device.memory_bytes,
            "computeMajor": device.compute_major,
            "computeMinor": device.compute_minor,
            "maxThreadsPerBlock": device.max_threads_per_block,
            "maxThreadsPerMultiprocessor": device.max_threads_per_sm,
            "regsPerBlock": device.registers_per_block,
            "regsPerMultiprocessor": device.registers_per_sm,
            "warpSize": device.warp_size,
            "sharedMemPerBlock": device.shared_memory_per_block_bytes,
            "sharedMemPerMultiprocessor": device.shared_memory_per_sm_bytes,
            "sharedMemPerBlockOptin": device.shared_memory_per_block_optin_bytes,
            "numSms": device.sm_count,
        }
    )


def _job(job: JobInfo) -> dict[str, Any]:
    return _known(
        {
            "backend": job.backend,
            "rank": job.rank,
            "world_size": job.world_size,
            "pg_count": job.group_count,
            "pg_config": None if job.groups is None else [_group(group) for group in job.groups],
            "nccl_version": job.library_version,
        }
    )


def _group(group: ProcessGroup) -> dict[str, Any]:
    return _known(
        {
            "pg_name": group.name,
            "pg_desc": group.description,
            "uid": group.uid,
            "backend_config": group.backend,
            "pg_size": group.size,
            "ranks": group.ranks,
        }
    )


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
