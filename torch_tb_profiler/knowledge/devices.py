"""Names of device types."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

GPU_TYPES = frozenset({1, 6})
"""Device types called GPU in tables (CUDA, and HIP of older ROCm builds)."""

CPU_TYPE = 0
"""The device type of host memory; its device id is -1."""


PRIVATE_USE_TYPE = 20
"""The device type of accelerators from extensions of torch."""


class DeviceKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accelerators that are not GPUs.

    Attributes:
        pattern: Regular expression of the device label of a track.
        name: Name of one device.
        no_tensor_cores: Why it has no Tensor Cores.
        other_hosts: Hosts of web pages about other devices.
        other_facts: Keys of facts about software of other devices.
        terms: Pairs of a term of GPUs and that of these devices.
    """

    pattern: str
    name: str
    no_tensor_cores: str
    other_hosts: tuple[str, ...]
    other_facts: tuple[str, ...]
    terms: tuple[tuple[str, str], ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = msgspec.field(name="counter-examples")

    def localize(self, text: str) -> str:
        """``text`` with the terms of these devices."""
        pattern, terms = _terms(self.name)
        return pattern.sub(lambda match: terms[match[0]], text)


class DeviceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``devices.toml``: number (as text) → name; kinds of devices."""

    names: dict[str, str]
    kinds: tuple[DeviceKind, ...]


@once
def device_file() -> DeviceFile:
    """The entries of the file."""
    return load("devices.toml", DeviceFile)


@lru_cache(maxsize=16)
def _terms(name: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """The terms of a kind, and a pattern of them as whole words, longest first."""
    terms = dict(next(kind.terms for kind in device_file().kinds if kind.name == name))
    words = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)"), terms


@once
def _names() -> dict[int, str]:
    return {int(number): name for number, name in device_file().names.items()}


@lru_cache(maxsize=1024)
def kind_of_label(label: str) -> DeviceKind | None:
    """The kind of a device with this label; None for GPUs and unknown devices."""
    return next((kind for kind in device_file().kinds if re.fullmatch(kind.pattern, label)), None)


def device_type_name(number: int) -> str:
    """``"CUDA"`` for 1; ``"device type 77"`` for an unknown number."""
    return _names().get(number, f"device type {number}")
