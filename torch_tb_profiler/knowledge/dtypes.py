"""Element types: canonical names and sizes by their spellings in traces."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class DataType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One element type: canonical name, bits of one element, and spellings in traces."""

    name: str
    bits: int
    spellings: tuple[str, ...]


class DataTypeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``dtypes.toml``."""

    dtypes: tuple[DataType, ...]


@once
def _by_spelling() -> dict[str, DataType]:
    entries = load("dtypes.toml", DataTypeFile).dtypes
    return {text.lower(): entry for entry in entries for text in (entry.name, *entry.spellings)}


def canonical(name: str) -> str | None:
    """``"float16"`` for ``"c10::Half"``; None for other texts (``Scalar``, ``""``)."""
    entry = _by_spelling().get(name.lower())
    return None if entry is None else entry.name


def size_bytes(name: str) -> int | None:
    """Bytes of one element of the type spelt ``name``; None for other texts."""
    entry = _by_spelling().get(name.lower())
    return None if entry is None else entry.bits // 8
