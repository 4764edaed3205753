"""What the header of a trace says about where it was recorded, by named keys only.

A header may hold secrets (environment dumps, user names, job ids), so nothing is shown that is
not listed here. No header names the torch version (formats.md §1.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact, Scalar

MAX_TEXT = 200
"""Longer values are cut: a header may hold anything."""


def environment_facts(trace: Trace) -> tuple[Fact, ...]:
    """Facts on device type, host, runtime versions and place in a distributed job."""
    header = trace.meta.header
    distributed = header.get("distributedInfo")
    if not isinstance(distributed, Mapping):
        distributed = {}
    launches = trace.quality.counts.get("launch_without_kernel", 0)
    uses_device = launches > 0 or not trace.device_work.is_empty()
    found: list[tuple[str, str, Scalar, str]] = [
        (
            "device_type",
            "Device type",
            "GPU" if uses_device else "CPU",
            "GPU when the recording holds device work or launches of it.",
        ),
        ("host_name", "Host", _plain(header.get("host_name")), "Machine that was profiled."),
        (
            "cuda_runtime_version",
            "CUDA runtime",
            _cuda_version(header.get("cuda_runtime_version")),
            "CUDA version the program was built with.",
        ),
        (
            "cuda_driver_version",
            "CUDA driver",
            _cuda_version(header.get("cuda_driver_version")),
            "Newest CUDA version the driver can run.",
        ),
        (
            "hip_runtime_version",
            "HIP runtime",
            _hip_version(header.get("hip_runtime_version")),
            "HIP (ROCm) version of the program.",
        ),
        ("backend", "Backend", _plain(distributed.get("backend")), "Communication backend."),
        ("rank", "Rank", _plain(distributed.get("rank")), "Rank of this process."),
        (
            "world_size",
            "World size",
            _plain(distributed.get("world_size")),
            "Processes of the distributed job.",
        ),
        (
            "nccl_version",
            "NCCL",
            _plain(distributed.get("nccl_version")),
            "Version of the communication library.",
        ),
    ]
    return tuple(
        Fact(key, title, value, None, None, text)
        for key, title, value, text in found
        if value is not None
    )


def _plain(value: Any) -> Scalar:
    """A text or whole number as it is, anything else as None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return value[:MAX_TEXT] if isinstance(value, str) and value else None


def _cuda_version(value: Any) -> str | None:
    """12040 → "12.4" (formats.md §1.3)."""
    if not isinstance(value, int) or value <= 0:
        return None
    return f"{value // 1000}.{value % 1000 // 10}"


def _hip_version(value: Any) -> str | None:
    """60443483 → "6.4.43483" (formats.md §1.3)."""
    if not isinstance(value, int) or value <= 0:
        return None
    return f"{value // 10**7}.{value // 10**5 % 100}.{value % 10**5}"
