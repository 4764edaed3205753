"""What the name of a copy tells, by the patterns of ``copies.toml``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class CopyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some names tell.

    Attributes:
        name: What they tell.
        pattern: Regular expression, searched in the name, any case.
        examples: Names this entry must take (tests check each).
    """

    name: str
    pattern: str
    examples: tuple[str, ...]


class CopyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``copies.toml``.

    Attributes:
        directions: From where to where, in order.
        host_memories: The memory of the host that takes part, in order.
    """

    directions: tuple[CopyEntry, ...]
    host_memories: tuple[CopyEntry, ...]


_Part = Literal["directions", "host_memories"]

MAX_NAME_CHARS = 256
"""Names of copies are short; so much of one is looked at."""


@once
def copy_file() -> CopyFile:
    """The entries as they stand in the file."""
    return load("copies.toml", CopyFile)


@once
def _compiled() -> dict[_Part, tuple[tuple[re.Pattern[str], str], ...]]:
    entries = copy_file()
    parts: dict[_Part, tuple[CopyEntry, ...]] = {
        "directions": entries.directions,
        "host_memories": entries.host_memories,
    }
    return {
        part: tuple((re.compile(entry.pattern, re.IGNORECASE), entry.name) for entry in listed)
        for part, listed in parts.items()
    }


def direction(name: str) -> str | None:
    """``"HtoD"`` for ``"Memcpy HtoD (Pageable -> Device)"``; None where a name does not tell."""
    return _first("directions", name)


def host_memory(name: str) -> str | None:
    """``"pageable"`` for ``"Memcpy HtoD (Pageable -> Device)"``; None where a name does not tell,
    or no memory of the host takes part."""
    return _first("host_memories", name)


@lru_cache(maxsize=4096)
def _first(part: _Part, name: str) -> str | None:
    for pattern, answer in _compiled()[part]:
        if pattern.search(name[:MAX_NAME_CHARS]):
            return answer
    return None
