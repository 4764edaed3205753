"""What may differ between two recordings beside the code, and what a difference does to times."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Effect = Literal["times", "told", "shown"]

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")


class Aspect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that may differ.

    Attributes:
        kind: Stable name.
        title: For people.
        effect: Of a difference: ``times`` cannot be compared, it is ``told``, or only ``shown``.
        why: What it does to times.
        text: Format string over ``baseline`` and ``candidate`` for the note; empty of ``shown``.
    """

    kind: str
    title: str
    effect: Effect
    why: str
    text: str = ""


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How traces of some torch versions are written.

    Attributes:
        text: The versions.
        has: Marks that all of them have.
        lacks: Marks that none of them has.
    """

    text: str
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()


class BatchInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators of which one input begins with the batch.

    Attributes:
        pattern: Regular expression that matches their whole name.
        input_index: Which input, from 0.
        examples: Names it must take (tests check each).
    """

    pattern: str
    input_index: int
    examples: tuple[str, ...]


class SurroundingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``surroundings.toml``."""

    aspects: tuple[Aspect, ...]
    layouts: tuple[Layout, ...]
    batch_inputs: tuple[BatchInput, ...]
    torch_functions: tuple[str, ...]
    steps_ratio: float
    shapes_shared: float
    precision_points: float
    work_shared: float


@once
def surroundings() -> SurroundingsFile:
    """The file as it stands."""
    return load("surroundings.toml", SurroundingsFile)


def kinds_of_times() -> tuple[str, ...]:
    """The kinds of aspects whose difference makes times incomparable."""
    return tuple(aspect.kind for aspect in surroundings().aspects if aspect.effect == "times")


def torch_versions(marks: Collection[str]) -> str | None:
    """Between which torch versions a trace with these marks was written; None if nothing tells."""
    for layout in surroundings().layouts:
        if all(mark in marks for mark in layout.has) and not any(
            mark in marks for mark in layout.lacks
        ):
            return layout.text
    return None


def can_be_one_version(a: str, b: str) -> bool:
    """Whether two of the layouts' versions (:attr:`Layout.text`) have one in common."""
    (a_first, a_last), (b_first, b_last) = _bounds(a), _bounds(b)
    return a_first <= b_last and b_first <= a_last


def _bounds(text: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    versions = [(float(major), float(minor)) for major, minor in _VERSION.findall(text)]
    return versions[0], (math.inf,) if text.endswith("newer") else versions[-1]
