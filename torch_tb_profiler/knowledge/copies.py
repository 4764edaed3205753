"""Direction and host memory of a copy, from its name, by the patterns of ``copies.toml``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class CopyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A direction or host memory.

    Attributes:
        name: The direction or memory.
        pattern: Regular expression, searched in the name, case-insensitive.
        examples: Names that must match this entry (tests check each).
    """

    name: str
    pattern: str
    examples: tuple[str, ...]


class CopyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``copies.toml``.

    Attributes:
        directions: Directions, in order.
        host_memories: Kinds of host memory, in order.
    """

    directions: tuple[CopyEntry, ...]
    host_memories: tuple[CopyEntry, ...]


_Part = Literal["directions", "host_memories"]

MAX_NAME_CHARS = 256
"""Only this many characters of a name are searched."""


@once
def copy_file() -> CopyFile:
    """The entries of the file."""
    return load("copies.toml", CopyFile)


@once
def _compiled() -> dict[_Part, tuple[tuple[re.Pattern[str], str], ...]]:
    entries = copy_file()
    parts: dict[_Part, tuple[CopyEntry, ...]] = {
        "directions": entries.directions,
        "host_memories": entries.host_memories,
    }
    return {
        part: tuple((re.compile(entry.pattern, re.IGNORECASE), entry.name) for entry in group)
        for part, group in parts.items()
    }


def direction(name: str) -> str | None:
    """``"HtoD"`` for ``"Memcpy HtoD (Pageable -> Device)"``; None if the name has none."""
    return _first("directions", name)


def host_memory(name: str) -> str | None:
    """``"pageable"`` for ``"Memcpy HtoD (Pageable -> Device)"``; None if the name
    does not contain it, or no host memory is involved."""
    return _first("host_memories", name)


@lru_cache(maxsize=4096)
def _first(part: _Part, name: str) -> str | None:
    for pattern, entry_name in _compiled()[part]:
        if pattern.search(name[:MAX_NAME_CHARS]):
            return entry_name
    return None
