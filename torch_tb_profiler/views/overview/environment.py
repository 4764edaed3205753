"""What a trace says about where it was recorded. No Kineto file names the torch version."""

from __future__ import annotations

from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact, Scalar
from torch_tb_profiler.views.versions import cuda_version, hip_version

MAX_TEXT = 200
"""Longer values are cut: a file may hold anything."""


def environment_facts(trace: Trace) -> tuple[Fact, ...]:
    """Facts on device type, host, runtime versions and place in a distributed job."""
    info = trace.meta.info
    job = info.job or JobInfo()
    launches = trace.quality.counts.get("launch_without_kernel", 0)
    uses_device = launches > 0 or not trace.device_work.is_empty()
    facts: list[tuple[str, str, Scalar, str]] = [
        (
            "device_type",
            "Device type",
            "GPU" if uses_device else "CPU",
            "GPU when the recording holds device work or launches of it.",
        ),
        ("host_name", "Host", _plain(info.host_name), "Machine that was profiled."),
        (
            "cuda_runtime_version",
            "CUDA runtime",
            cuda_version(info.cuda_runtime_version),
            "CUDA version the program was built with.",
        ),
        (
            "cuda_driver_version",
            "CUDA driver",
            cuda_version(info.cuda_driver_version),
            "Newest CUDA version the driver can run.",
        ),
        (
            "hip_runtime_version",
            "HIP runtime",
            hip_version(info.hip_runtime_version),
            "HIP (ROCm) version of the program.",
        ),
        ("backend", "Backend", _plain(job.backend), "Communication backend."),
        ("rank", "Rank", job.rank, "Rank of this process."),
        ("world_size", "World size", job.world_size, "Processes of the distributed job."),
        (
            "nccl_version",
            "NCCL",
            _plain(job.library_version),
            "Version of the communication library.",
        ),
    ]
    return tuple(
        Fact(key, title, value, None, None, text)
        for key, title, value, text in facts
        if value is not None
    )


def _plain(value: str | int | None) -> Scalar:
    """A number as it is, a text cut, None for an empty one."""
    return (value[:MAX_TEXT] or None) if isinstance(value, str) else value
