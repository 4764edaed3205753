"""GPU architectures by compute capability, and specifications by device name."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Architecture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One generation of GPUs.

    Attributes:
        name: ``"Hopper"``.
        compute_capabilities: ``"major.minor"`` of NVIDIA devices; empty for other vendors, whose
            compute capability in a trace is not comparable.
        matrix_dtypes: Element types that its matrix units support; ``"tf32"`` is rounded float32.
        max_threads_per_sm: Resident threads per SM (compute unit); None if unknown.
    """

    name: str
    compute_capabilities: tuple[str, ...]
    matrix_dtypes: tuple[str, ...]
    max_threads_per_sm: int | None = None


class GpuEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One GPU model as written in ``gpus.toml``.

    Attributes:
        by_memory: Whether the name is of several models, and it is this one where a trace states
            its memory.
    """

    pattern: str
    architecture: str
    sm_count: int
    memory_gib: int
    bandwidth_gb_per_s: float
    source: str
    examples: tuple[str, ...]
    by_memory: bool = False


class GpuFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``gpus.toml``."""

    architectures: tuple[Architecture, ...]
    gpus: tuple[GpuEntry, ...]


class GpuSpecification(msgspec.Struct, frozen=True):
    """The vendor's specification of a GPU model.

    Attributes:
        architecture: Its architecture.
        sm_count: SMs (compute units, Xe cores) of one device.
        memory_bytes: Nominal memory; a device reports a little less.
        bandwidth_gb_per_s: Peak memory bandwidth in 10^9 bytes per second.
        source: The vendor page.
    """

    architecture: Architecture
    sm_count: int
    memory_bytes: int
    bandwidth_gb_per_s: float
    source: str


MAX_NAME_CHARS = 256
"""Only this many characters are matched, as some patterns take quadratic time."""


@once
def gpu_file() -> GpuFile:
    """The entries of the file."""
    return load("gpus.toml", GpuFile)


LEAST_MEMORY_SHARE = 0.9
"""A device reports at least this share of its nominal memory."""


@lru_cache(maxsize=1024)
def specification(device_name: str, memory_bytes: int | None = None) -> GpuSpecification | None:
    """The specification of a GPU; None for an unknown model.

    Args:
        device_name: Its name in a trace.
        memory_bytes: Its memory as the trace states it; None if it does not.
    """
    architectures = {item.name: item for item in gpu_file().architectures}
    for gpu in gpu_file().gpus:
        if gpu.by_memory and not _has_memory(gpu, memory_bytes):
            continue
        if re.search(gpu.pattern, device_name[:MAX_NAME_CHARS], re.IGNORECASE):
            return GpuSpecification(
                architecture=architectures[gpu.architecture],
                sm_count=gpu.sm_count,
                memory_bytes=gpu.memory_gib << 30,
                bandwidth_gb_per_s=gpu.bandwidth_gb_per_s,
                source=gpu.source,
            )
    return None


def _has_memory(gpu: GpuEntry, memory_bytes: int | None) -> bool:
    share = (memory_bytes or 0) / (gpu.memory_gib << 30)
    return LEAST_MEMORY_SHARE <= share <= 1


def is_other_vendor(device_name: str | None) -> bool:
    """Whether the name of a device is of AMD or Intel."""
    return re.search("amd|radeon|intel", device_name or "", re.IGNORECASE) is not None


@lru_cache(maxsize=1024)
def architecture(
    device_name: str | None, compute_major: int | None, compute_minor: int | None
) -> Architecture | None:
    """The architecture of a device by its name, or by its compute capability; None if unknown.

    The compute capability counts only for unknown names that are not of AMD or Intel, which use
    other numbers in the same fields.
    """
    known = specification(device_name or "")
    if known is not None:
        return known.architecture
    if is_other_vendor(device_name):
        return None
    capability = f"{compute_major}.{compute_minor}"
    for item in gpu_file().architectures:
        if capability in item.compute_capabilities:
            return item
    return None
