"""What counters and samples tell of the use of hosts and devices: ``resources.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

HOST, DEVICES = "Host", "Devices"
"""Kinds of sources beside those of the file."""


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sources that are drawn together: their title and a pattern."""

    title: str
    source: str


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a metric of some sources means.

    Attributes:
        source: Pattern of all of the source's name.
        metric: Likewise of the metric's.
        help: What it is, for people.
        interval: Whether a value is of the time since the sample before.
        rare: Whether it is mostly 0.
        constant: Whether it stays what it is.
    """

    source: str
    metric: str
    help: str
    interval: bool = False
    rare: bool = False
    constant: bool = False


class SampleAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When samples tell something, as ``resources.toml`` says of each."""

    least_samples: int
    low_user_pct: float
    waits_pct: float
    busy_worker_pct: float
    high_system_pct: float
    io_wait_pct: float
    shared_idle_pct: float
    shared_others_pct: float
    memory_pct: float
    swapped_bytes: float
    cpu_throttled_pct: float
    cpu_limit_pct: float
    gpu_throttled_pct: float
    gpu_idle_pct: float
    one_core_from_pct: float
    one_core_to_pct: float


class ResourcesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``resources.toml``, which says what each is for."""

    counters: tuple[str, ...]
    elsewhere: tuple[str, ...]
    devices: str
    momentary: str
    kinds: tuple[Kind, ...]
    metrics: tuple[Metric, ...]
    advice: SampleAdvice


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


def kinds() -> tuple[str, ...]:
    """The kinds of sources, in the order in which they are shown."""
    return (HOST, *(kind.title for kind in resources_file().kinds), DEVICES)


def kind_of(source: str, metric: str) -> str:
    """With what a metric is drawn: :data:`HOST`, :data:`DEVICES` or a kind of the file."""
    if is_device(source) or is_device(metric):
        return DEVICES
    found = (kind.title for kind in resources_file().kinds if re.search(kind.source, source))
    return next(found, HOST)


@lru_cache(maxsize=4096)
def meaning(source: str, metric: str) -> Metric | None:
    """What a metric of a source means; None where no rule knows it."""
    for each in resources_file().metrics:
        if re.fullmatch(each.metric, metric) and re.fullmatch(each.source, source):
            return each
    return None


def place_of(source: str, metric: str) -> int:
    """Where a metric stands among those of the file; behind all of them where no rule knows it."""
    known = meaning(source, metric)
    metrics = resources_file().metrics
    return len(metrics) if known is None else metrics.index(known)


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, name, re.IGNORECASE) for pattern in patterns)
