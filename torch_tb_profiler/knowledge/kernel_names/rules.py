"""The rules of ``kernel_names.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Template arguments that tell nothing: by name, and by a pattern of names."""

    names: frozenset[str]
    pattern: str


class Homes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is cut from the end of the function a lambda is in, and names given as they are."""

    endings: tuple[str, ...]
    names: dict[str, str]


class Functors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is cut from the names of functors, and names given as they are."""

    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    names: dict[str, str]


class Tiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Classes whose arguments are the sides of a tile, and classes that are a number."""

    names: frozenset[str]
    numbers: frozenset[str]


class Deep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Types of whole kernels, by a pattern of names."""

    pattern: str


class ArgumentPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a kernel with arguments of known meaning is shown.

    Attributes:
        heads: Names of the functions.
        shows: Texts with ``{0.1}`` for the second argument of the first; one with an argument that
            is not there is left out.
        types: Whether the element types found in the arguments are shown.
        flags: Place of an argument → what its being true means.
    """

    heads: tuple[str, ...]
    shows: tuple[str, ...]
    types: bool = False
    flags: dict[int, str] = {}


class Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A replacement in names that are no C++.

    Attributes:
        pattern: Regular expression.
        to: What stands instead.
        always: Whether it is applied to short names too.
        words: Whether underscores become blanks then.
    """

    pattern: str
    to: str
    always: bool = False
    words: bool = False


class KernelNameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``kernel_names.toml``; each table is told of there."""

    namespaces: frozenset[str]
    vague: frozenset[str]
    entries: frozenset[str]
    wrappers: dict[str, int]
    holders: dict[str, int]
    noise: Noise
    heads: dict[str, str]
    short_heads: dict[str, str]
    only_classes: frozenset[str]
    homes: Homes
    functors: Functors
    types: dict[str, str]
    tiles: Tiles
    deep: Deep
    patterns: tuple[ArgumentPattern, ...]
    folds: tuple[Fold, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules, ready for use: ``noise`` and ``deep`` as patterns, ``patterns`` by head."""

    file: KernelNameFile
    noise: re.Pattern[str]
    deep: re.Pattern[str]
    patterns: dict[str, ArgumentPattern]
    folds: tuple[tuple[re.Pattern[str], Fold], ...]


@once
def rules() -> Rules:
    """The rules as they stand in the file."""
    file = load("kernel_names.toml", KernelNameFile)
    return Rules(
        file,
        re.compile(file.noise.pattern),
        re.compile(file.deep.pattern),
        {head: pattern for pattern in file.patterns for head in pattern.heads},
        tuple((re.compile(fold.pattern), fold) for fold in file.folds),
    )
