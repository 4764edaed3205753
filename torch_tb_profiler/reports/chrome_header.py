"""The top-level keys of an exported trace beside its events: what :class:`TraceInfo` holds of
devices, job and recording, under the keys and in the units of Kineto."""

from __future__ import annotations

from typing import Any

import msgspec

from torch_tb_profiler.trace.model import TraceMeta

SCHEMA_VERSION = 1
"""Of Kineto's layout, which the events have, too."""

DEVICE_KEYS = {
    "device": "id",
    "name": "name",
    "memory_bytes": "totalGlobalMem",
    "compute_major": "computeMajor",
    "compute_minor": "computeMinor",
    "max_threads_per_block": "maxThreadsPerBlock",
    "max_threads_per_sm": "maxThreadsPerMultiprocessor",
    "registers_per_block": "regsPerBlock",
    "registers_per_sm": "regsPerMultiprocessor",
    "warp_size": "warpSize",
    "shared_memory_per_block_bytes": "sharedMemPerBlock",
    "shared_memory_per_sm_bytes": "sharedMemPerMultiprocessor",
    "shared_memory_per_block_optin_bytes": "sharedMemPerBlockOptin",
    "sm_count": "numSms",
}
JOB_KEYS = {
    "backend": "backend",
    "rank": "rank",
    "world_size": "world_size",
    "group_count": "pg_count",
    "library_version": "nccl_version",
}
GROUP_KEYS = {
    "name": "pg_name",
    "description": "pg_desc",
    "uid": "uid",
    "backend": "backend_config",
    "size": "pg_size",
    "ranks": "ranks",
}


def chrome_header(meta: TraceMeta) -> dict[str, Any]:
    """The keys; what is not known has none."""
    info, job = meta.info, meta.info.job
    header: dict[str, Any] = {"schemaVersion": SCHEMA_VERSION}
    if info.devices:
        header["deviceProperties"] = [_keyed(device, DEVICE_KEYS) for device in info.devices]
    if job is not None:
        header["distributedInfo"] = described = _keyed(job, JOB_KEYS)
        if job.groups is not None:
            described["pg_config"] = [_keyed(group, GROUP_KEYS) for group in job.groups]
    for name in info.recording.__struct_fields__:
        flag = getattr(info.recording, name)
        if flag is not None:
            header[name] = int(flag)
    return header | {"baseTimeNanoseconds": meta.base_ns, "displayTimeUnit": "ms"}


def _keyed(facts: msgspec.Struct, keys: dict[str, str]) -> dict[str, Any]:
    """The facts that are known, under other keys."""
    values = ((key, getattr(facts, name)) for name, key in keys.items())
    return {key: value for key, value in values if value is not None}
