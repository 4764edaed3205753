"""Names of ranges that are one iteration each, and thresholds for key node candidates."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class IterationRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A range that is one iteration.

    Attributes:
        name: Its name; ``*`` matches any text.
        what: What it is.
        examples: Names that must match (tests check each).
        counter_examples: Names that must not match.
    """

    name: str
    what: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class IterationsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``iterations.toml``; its comments explain each value."""

    least_score: float
    used_score: float
    used_times: int
    used_share: float
    most_listed: int
    varies: float
    steady_of_varies: float
    steady_share: float
    steady_least: int
    ranges: tuple[IterationRange, ...]


@once
def iterations_file() -> IterationsFile:
    """The entries of the file."""
    return load("iterations.toml", IterationsFile)


def matches_wildcard(text: str, name: str) -> bool:
    """Whether ``text`` matches ``name``, in which every ``*`` matches any text."""
    if "*" not in name:
        return text == name
    first, *middle, last = name.split("*")
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    position, end = len(first), len(text) - len(last)
    for part in middle:
        position = text.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True
