"""Meanings of counters and samples of hosts and devices: ``resources.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.device_counters import counter_meaning, roles
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

HOST, DEVICES = "Host", "Devices"
"""Kinds of sources in addition to those of the file."""


class SourceKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sources shown in one chart: their title and a pattern."""

    title: str
    source: str


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of a metric of some sources.

    Attributes:
        source: Regular expression of the whole name of the source.
        metric: Regular expression of the whole name of the metric.
        help: What it measures.
        interval: Whether a value covers the time since the previous sample.
        rare: Whether it is usually 0.
        constant: Whether it does not change.
    """

    source: str
    metric: str
    help: str
    interval: bool = False
    rare: bool = False
    constant: bool = False


class Headline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern of "source metric", and what a sentence calls its first match (null: its name)."""

    metric: str
    text: str | None = None


class SampleAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds of the advice from samples; ``resources.toml`` explains each."""

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
    """The schema of ``resources.toml``; its comments explain each key."""

    counters: tuple[str, ...]
    elsewhere: tuple[str, ...]
    devices: str
    headlines: tuple[Headline, ...]
    momentary: str
    kinds: tuple[SourceKind, ...]
    metrics: tuple[Metric, ...]
    advice: SampleAdvice


@once
def resources_file() -> ResourcesFile:
    """The entries of the file."""
    return load("resources.toml", ResourcesFile)


def is_usage_counter(counter: str) -> bool:
    """Whether a counter of this name measures the use of something."""
    return _is_any(counter, resources_file().counters)


def is_elsewhere(metric: str) -> bool:
    """Whether samples of this metric belong to another view: they are no machine resource."""
    return _is_any(metric, resources_file().elsewhere)


def is_device(source: str) -> bool:
    """Whether samples of this source are of a device, not of the host."""
    return re.search(resources_file().devices, source, re.IGNORECASE) is not None


def is_momentary(source: str) -> bool:
    """Whether samples of this source belong to one kernel each, and not to the time after it."""
    return re.search(resources_file().momentary, source, re.IGNORECASE) is not None


def kinds() -> tuple[str, ...]:
    """The kinds of sources, in the order of display."""
    return (HOST, *(kind.title for kind in resources_file().kinds), DEVICES)


def source_kind(source: str, metric: str) -> str:
    """The kind of the source of a metric: :data:`HOST`, :data:`DEVICES` or a kind of the file."""
    if is_device(source) or is_device(metric):
        return DEVICES
    titles = (kind.title for kind in resources_file().kinds if re.search(kind.source, source))
    return next(titles, HOST)


@lru_cache(maxsize=4096)
def metric_meaning(source: str, metric: str, unit: str = "") -> Metric | None:
    """The meaning of a metric of a source; None if unknown.

    Args:
        source: What was sampled.
        metric: Its name.
        unit: The unit that the recorder states, empty for none.
    """
    for each in resources_file().metrics:
        if re.fullmatch(each.metric, metric) and re.fullmatch(each.source, source):
            return each
    role = counter_meaning(metric, unit).role if is_device(source) else None
    if role is None or is_momentary(source):
        return None
    return Metric(source, metric, role.help, interval=role.kind == "mean", rare=role.rare)


def metric_rank(source: str, metric: str, unit: str = "") -> int:
    """The position of a metric in the file, for sorting: of devices by role; unknown metrics come
    last."""
    known, metrics = metric_meaning(source, metric, unit), resources_file().metrics
    if known is None:
        return len(metrics) + len(roles())
    if known in metrics:
        return metrics.index(known)
    role = counter_meaning(metric, unit).role
    assert role is not None, "known of no other file"
    return len(metrics) + list(roles()).index(role.role)


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, name, re.IGNORECASE) for pattern in patterns)
