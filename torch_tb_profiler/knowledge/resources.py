"""What counters and samples tell of the use of hosts and devices: ``resources.toml``."""

from __future__ import annotations

import re

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class HostCpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Metrics of the host's cores, as patterns, and when they tell something.

    Attributes:
        user: The share of programs.
        system: The share of the system.
        switches: Switches between tasks.
        low_user_pct: Below, there is room for more workers.
        high_system_pct: Above, there are too many.
    """

    user: str
    system: str
    switches: str
    low_user_pct: float
    high_system_pct: float


class ResourcesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``resources.toml``, which says what each is for."""

    counters: tuple[str, ...]
    elsewhere: tuple[str, ...]
    devices: str
    momentary: str
    host_cpu: HostCpu


@once
def resources_file() -> ResourcesFile:
    """The rules."""
    return load("resources.toml", ResourcesFile)


def tells_use(counter: str) -> bool:
    """Whether a counter of this name says how much something was used."""
    return _is_any(counter, resources_file().counters)


def is_elsewhere(metric: str) -> bool:
    """Whether samples of this metric are no resource of a machine."""
    return _is_any(metric, resources_file().elsewhere)


def is_device(source: str) -> bool:
    """Whether samples of this source are of a device, not of the host."""
    return re.search(resources_file().devices, source, re.IGNORECASE) is not None


def is_momentary(source: str) -> bool:
    """Whether samples of this source are of one kernel each, and tell nothing of the time behind
    it."""
    return re.search(resources_file().momentary, source, re.IGNORECASE) is not None


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, name, re.IGNORECASE) for pattern in patterns)
