"""The dimensions of parallel strategies: names of process groups, orders of ranks, traffic."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Dimension = Literal["data", "tensor", "pipeline", "expert", "context", "sharded"]

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

PassKind = Literal["forward", "backward", "input", "weight"]

MAX_NAME_CHARS = 200
"""How much of a name is compared; longer ones are no name of a framework."""

MAX_DIGITS = 7
"""Longer numbers are no stage and no microbatch."""

_BEFORE = re.compile(r"^mesh_")
_AFTER = re.compile(r"(:\d+)?$")
_SUFFIX = re.compile(r"(_parallel)?(_groups?)?$")
_JOINTS = re.compile(r"[-.\s]+")


class NameRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a name of a process group means.

    Attributes:
        pattern: Regular expression of the whole name, normalized.
        examples: Names that this rule must decide (tests check each).
        dimension: The dimension; None where the group spans several.
        axis: Whether the groups divide the ranks along that dimension alone: ``yes``; ``else``
            where no other groups of the dimension do, and none is of context; ``no``.
        several: Why there is no one dimension.
    """

    pattern: str
    examples: tuple[str, ...]
    dimension: Dimension | None = None
    axis: Literal["yes", "else", "no"] = "yes"
    several: str | None = None


class RankOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a framework numbers ranks.

    Attributes:
        name: Name of the framework.
        order: Short names of the dimensions; the first changes from one rank to the next.
    """

    name: str
    order: tuple[str, ...]


class TrafficThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Rules of thumb for traffic, as ``parallel.toml`` explains them."""

    peer_to_peer_pct: float
    same_size_pct: float
    same_size_calls: int
    scalar_bytes: int
    longest_run: int
    tensor_size: int


class OutlierThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """When a value is an outlier, as ``parallel.toml`` explains it."""

    scaled_deviations: float
    deviation_pct: float


class PassRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A range around the pass of one microbatch.

    Attributes:
        pattern: Regular expression of the whole name; groups ``stage`` and ``microbatch``.
        kind: What is computed.
        examples: Names that this rule must decide (tests check each).
    """

    pattern: str
    kind: PassKind
    examples: tuple[str, ...]


class PassName(msgspec.Struct, frozen=True):
    """What the name of such a range says; None for what it does not."""

    kind: PassKind
    stage: int | None
    microbatch: int | None


class PipelineSchedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule of a pipeline.

    Attributes:
        name: Its name.
        minimum: The bubble that it cannot avoid, as a share of its time; None where that depends
            on durations.
    """

    name: str
    minimum: Literal["(p-1)/(m+p-1)", "(p-1)/(m*v+p-1)"] | None = None


class ParallelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``parallel.toml``.

    Attributes:
        rules: What names mean, in order.
        orders: Orders of ranks by framework; the first is the default.
        names: Short name of a dimension → the dimension.
        aliases: Other spelling → short name.
        traffic: Thresholds of traffic.
        outliers: Thresholds of the matrix of ranks.
        passes: Ranges of pipelines.
        smallest_pass_pct: What is shorter than this share of the median pass of its kind, in %, is
            none, where passes are recognized by transfers.
        schedules: Schedules of pipelines.
    """

    rules: tuple[NameRule, ...]
    orders: tuple[RankOrder, ...]
    names: dict[str, Dimension]
    aliases: dict[str, str]
    traffic: TrafficThresholds
    outliers: OutlierThresholds
    passes: tuple[PassRule, ...]
    smallest_pass_pct: float
    schedules: tuple[PipelineSchedule, ...]


@once
def parallel_file() -> ParallelFile:
    """The entries of the file."""
    return load("parallel.toml", ParallelFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], NameRule], ...]:
    return tuple((re.compile(rule.pattern), rule) for rule in parallel_file().rules)


def normalized_name(name: str) -> str:
    """The part of a group's name that rules compare: ``"TENSOR_MODEL_PARALLEL_GROUP"`` is
    ``"tensor_model"``, ``"mesh_tp"`` and ``"tp:0"`` are ``"tp"``."""
    text = _JOINTS.sub("_", name[:MAX_NAME_CHARS].strip().lower())
    text = _AFTER.sub("", _BEFORE.sub("", text), count=1)
    return _SUFFIX.sub("", text, count=1)


@lru_cache(maxsize=4096)
def name_rule(name: str) -> NameRule | None:
    """The rule of a name or description of a process group; None where none says anything."""
    text = normalized_name(name)
    return next((rule for pattern, rule in _compiled() if pattern.fullmatch(text)), None)


@once
def _compiled_passes() -> tuple[tuple[re.Pattern[str], PassRule], ...]:
    return tuple((re.compile(rule.pattern), rule) for rule in parallel_file().passes)


@lru_cache(maxsize=4096)
def pass_name(name: str) -> PassName | None:
    """What a range says of the pass that it is around; None for other ranges."""
    for pattern, rule in _compiled_passes():
        match = pattern.fullmatch(name[:MAX_NAME_CHARS])
        if match is not None:
            numbers = {key: _number(text) for key, text in match.groupdict().items()}
            return PassName(rule.kind, numbers.get("stage"), numbers.get("microbatch"))
    return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and len(text) < MAX_DIGITS else None


def minimum_bubble(schedule: str, stages: int, microbatches: int, chunks: int) -> float | None:
    """The share of its time that a schedule cannot keep a stage busy; None where that is unknown.

    Args:
        schedule: Its name.
        stages: Ranks of the pipeline, p.
        microbatches: m.
        chunks: Stages per rank, v.
    """
    known = next((each for each in parallel_file().schedules if each.name == schedule), None)
    if known is None or known.minimum is None or microbatches < 1:
        return None
    passes = microbatches * (chunks if "v" in known.minimum else 1)
    return (stages - 1) / (passes + stages - 1)
