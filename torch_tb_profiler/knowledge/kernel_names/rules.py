"""The rules of ``kernel_names.toml``."""

from __future__ import annotations

import re

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Template arguments without information: by name, and by a pattern of names."""

    names: frozenset[str]
    pattern: str


class Homes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Suffixes removed from the enclosing function of a lambda, and replacements of whole names."""

    endings: tuple[str, ...]
    names: dict[str, str]


class Functors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prefixes and suffixes removed from names of functors, and replacements of whole names."""

    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    names: dict[str, str]


class Tiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Classes whose arguments are the sides of a tile, and classes that wrap a number."""

    names: frozenset[str]
    numbers: frozenset[str]


class WholeKernelTypes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Types of whole kernels, by a pattern of names."""

    pattern: str


class ArgumentPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The short form of a kernel whose arguments have known meanings.

    Attributes:
        heads: Names of the functions.
        shows: Texts with ``{0.1}`` for the second argument of the first; texts with missing
            arguments are omitted.
        types: Whether the element types in the arguments are shown.
        flags: Position of an argument → its meaning if it is true.
    """

    heads: tuple[str, ...]
    shows: tuple[str, ...]
    types: bool = False
    flags: dict[int, str] = {}


class Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A replacement in names that are not C++.

    Attributes:
        pattern: Regular expression.
        to: The replacement.
        always: Whether it also applies to short names.
        words: Whether underscores become spaces too.
    """

    pattern: str
    to: str
    always: bool = False
    words: bool = False


class KernelNameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``kernel_names.toml``, which explains each table."""

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
    deep: WholeKernelTypes
    patterns: tuple[ArgumentPattern, ...]
    folds: tuple[Fold, ...]


class NameRules(msgspec.Struct, frozen=True):
    """The rules, ready for use: ``noise`` and ``deep`` as patterns, ``patterns`` by head."""

    file: KernelNameFile
    noise: re.Pattern[str]
    deep: re.Pattern[str]
    patterns: dict[str, ArgumentPattern]
    folds: tuple[tuple[re.Pattern[str], Fold], ...]


@once
def name_rules() -> NameRules:
    """The rules of the file."""
    file = load("kernel_names.toml", KernelNameFile)
    return NameRules(
        file,
        re.compile(file.noise.pattern),
        re.compile(file.deep.pattern),
        {head: pattern for pattern in file.patterns for head in pattern.heads},
        tuple((re.compile(fold.pattern), fold) for fold in file.folds),
    )
