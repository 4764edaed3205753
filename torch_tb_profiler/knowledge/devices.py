"""Names of device types."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

GPU_TYPES = frozenset({1, 6})
"""Device types that are called GPU in tables (CUDA, and HIP of older ROCm builds)."""

CPU_TYPE = 0
"""The device type of host memory; its device id is -1."""


PRIVATE_USE_TYPE = 20
"""The device type of accelerators that an extension of torch brings."""


class DeviceKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accelerators that are no GPUs.

    Attributes:
        pattern: Regular expression of what recordings call the device of a track.
        name: What one is called.
        no_tensor_cores: Why it has no Tensor Cores.
        other_hosts: Names of hosts whose pages are on other devices.
    """

    pattern: str
    name: str
    no_tensor_cores: str
    other_hosts: tuple[str, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = msgspec.field(name="counter-examples")


class DeviceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``devices.toml``: number (as text, TOML keys are) → name; kinds of devices."""

    names: dict[str, str]
    kinds: tuple[DeviceKind, ...]


@once
def device_file() -> DeviceFile:
    """The entries as they stand in the file."""
    return load("devices.toml", DeviceFile)


@once
def _names() -> dict[int, str]:
    return {int(number): name for number, name in device_file().names.items()}


@lru_cache(maxsize=1024)
def kind_of_label(label: str) -> DeviceKind | None:
    """What a device is that a recording calls ``label``; None for a GPU and for what is unknown."""
    return next((kind for kind in device_file().kinds if re.fullmatch(kind.pattern, label)), None)


def device_type_name(number: int) -> str:
    """``"CUDA"`` for 1; ``"device type 77"`` for a number nobody knows."""
    return _names().get(number, f"device type {number}")
