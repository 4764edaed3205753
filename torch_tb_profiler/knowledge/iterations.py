"""Names of ranges that are one iteration each, and how candidates for key nodes are judged."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class IterationRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A range that is one iteration.

    Attributes:
        name: Its name, ``*`` for any text.
        what: What it is, for people.
        examples: Names it must take (tests check each).
        counter_examples: Names it must not take.
    """

    name: str
    what: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class IterationsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``iterations.toml``, which says what each figure is for."""

    least_score: float
    most_listed: int
    varies: float
    steady_of_varies: float
    steady_share: float
    steady_least: int
    ranges: tuple[IterationRange, ...]


@once
def iterations_file() -> IterationsFile:
    """The entries as they stand in the file."""
    return load("iterations.toml", IterationsFile)


def named_like(text: str, name: str) -> bool:
    """Whether ``text`` is ``name``, in which every ``*`` stands for any text."""
    if "*" not in name:
        return text == name
    first, *middle, last = name.split("*")
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
