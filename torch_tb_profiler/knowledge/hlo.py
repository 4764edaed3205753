"""What HLO operations do, by their category or name: ``hlo.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.kernels import KernelKind
from torch_tb_profiler.once import once

MAX_NAME_CHARS = 512
"""Only this many characters of a text are matched."""

_NUMBER = re.compile(r"(\.\d+)+$")


class HloEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Operations of one kind.

    Attributes:
        name: Stable name of the entry.
        kind: A kind of ``kernels.toml``.
        type: A type of ``operator_types.toml``.
        pattern: Regular expression that must match the whole text.
        examples: Texts that must match (tests check each).
        counter_examples: Texts that must not match.
        communication: Whether they move data between devices.
    """

    name: str
    kind: str
    type: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()
    communication: bool = False


class HloFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``hlo.toml``."""

    entries: tuple[HloEntry, ...]


@once
def hlo_entries() -> tuple[HloEntry, ...]:
    """The entries, in order."""
    return load("hlo.toml", HloFile).entries


@lru_cache(maxsize=65536)
def hlo_entry(text: str) -> HloEntry | None:
    """The entry of a category or of the name of an operation; None for none."""
    text = _NUMBER.sub("", text[:MAX_NAME_CHARS])
    return next((each for each in hlo_entries() if re.fullmatch(each.pattern, text)), None)


def hlo_kernel_kind(text: str) -> KernelKind | None:
    """The kind of the work of an operation; None for unknown ones. Whether it runs on matrix units
    no text says."""
    entry = hlo_entry(text)
    if entry is None:
        return None
    return KernelKind(entry.kind, None, entry.communication, f"hlo-{entry.name}")


def hlo_operator_type(text: str) -> str | None:
    """The type of an operation as an operator; None for unknown ones."""
    entry = hlo_entry(text)
    return None if entry is None else entry.type
