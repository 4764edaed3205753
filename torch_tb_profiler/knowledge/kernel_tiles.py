"""The tile in the name of a matrix kernel, by the patterns of ``kernel_tiles.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class TileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to write a tile; tests check each of the examples, name → tile."""

    pattern: str
    examples: dict[str, tuple[int, int]]


class TileFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``kernel_tiles.toml``."""

    tiles: tuple[TileEntry, ...]


MAX_NAME_CHARS = 1024
"""Only this many characters of a name are searched."""

MAX_TILE = 4096
"""No block computes more rows or columns; larger numbers are something else."""


@once
def tile_file() -> TileFile:
    """The entries of the file."""
    return load("kernel_tiles.toml", TileFile)


@once
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(entry.pattern) for entry in tile_file().tiles)


@lru_cache(maxsize=65536)
def tile_in_name(name: str) -> tuple[int, int] | None:
    """``(128, 256)``: the tile of the result that a block computes; None if the name has none."""
    text = name[:MAX_NAME_CHARS]
    for pattern in _patterns():
        match = pattern.search(text)
        if match is not None:
            rows, columns = int(match[1]), int(match[2])
            return (rows, columns) if 0 < rows <= MAX_TILE and 0 < columns <= MAX_TILE else None
    return None
