"""Names of device types."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

GPU_TYPES = frozenset({1, 6})
"""Device types called GPU in tables (CUDA, and HIP of older ROCm builds)."""

CPU_TYPE = 0
"""The device type of host memory; its device id is -1."""


PRIVATE_USE_TYPE = 20
"""The device type of accelerators from extensions of torch."""


class DeviceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``devices.toml``: number (as text) → name."""

    names: dict[str, str]


@once
def device_file() -> DeviceFile:
    """The entries of the file."""
    return load("devices.toml", DeviceFile)


@once
def _names() -> dict[int, str]:
    return {int(number): name for number, name in device_file().names.items()}


def device_type_name(number: int) -> str:
    """``"CUDA"`` for 1; ``"device type 77"`` for an unknown number."""
    return _names().get(number, f"device type {number}")
