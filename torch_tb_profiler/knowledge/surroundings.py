"""Aspects of the environment of two recordings, and the effect of a difference on times."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Effect = Literal["times", "noted", "shown"]

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")


class EnvironmentAspect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One aspect that may differ.

    Attributes:
        kind: Stable name.
        title: Title.
        effect: Effect of a difference: ``times`` are not comparable, it is ``noted``, or only
            ``shown``.
        why: The effect on times.
        text: Format string over ``baseline`` and ``candidate`` for the note; empty for ``shown``.
    """

    kind: str
    title: str
    effect: Effect
    why: str
    text: str = ""


class TraceLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Marks in traces of some torch versions.

    Attributes:
        text: The versions.
        has: Marks that all such traces have.
        absent: Marks that no such trace has.
    """

    text: str
    has: tuple[str, ...]
    absent: tuple[str, ...] = msgspec.field(default=(), name="lacks")


class BatchInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators with an input whose first dimension is the batch.

    Attributes:
        pattern: Regular expression of the whole name.
        input_index: Index of the input, from 0.
        examples: Names that must match (tests check each).
    """

    pattern: str
    input_index: int
    examples: tuple[str, ...]


class SurroundingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``surroundings.toml``."""

    aspects: tuple[EnvironmentAspect, ...]
    layouts: tuple[TraceLayout, ...]
    batch_inputs: tuple[BatchInput, ...]
    torch_functions: tuple[str, ...]
    steps_ratio: float
    shapes_shared: float
    precision_points: float
    work_shared: float


@once
def surroundings() -> SurroundingsFile:
    """The entries of the file."""
    return load("surroundings.toml", SurroundingsFile)


def kinds_of_times() -> tuple[str, ...]:
    """The kinds of aspects whose difference makes times incomparable."""
    return tuple(aspect.kind for aspect in surroundings().aspects if aspect.effect == "times")


def torch_versions(marks: Collection[str]) -> str | None:
    """The torch versions that write traces with these marks; None if unknown."""
    for layout in surroundings().layouts:
        if all(mark in marks for mark in layout.has) and not any(
            mark in marks for mark in layout.absent
        ):
            return layout.text
    return None


def can_be_one_version(a: str, b: str) -> bool:
    """Whether two ranges of versions (:attr:`TraceLayout.text`) overlap."""
    (a_first, a_last), (b_first, b_last) = _bounds(a), _bounds(b)
    return a_first <= b_last and b_first <= a_last


def _bounds(text: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    versions = [(float(major), float(minor)) for major, minor in _VERSION.findall(text)]
    return versions[0], (math.inf,) if text.endswith("newer") else versions[-1]
