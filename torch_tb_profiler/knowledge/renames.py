"""How what only one side of a comparison has is paired with what only the other side has."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class RenameLevel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of evidence.

    Attributes:
        columns: What must be equal on both sides.
        weight: How much a call that it pairs counts, from 0 to 1.
        text: The reason, for people.
    """

    columns: tuple[str, ...]
    weight: float
    text: str


class RenameRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kinds of evidence, strongest first.

    Attributes:
        least_confidence_pct: Pairs below it are none.
        most_names: Names per side up to which a position is evidence.
        levels: In the order in which they are tried.
    """

    least_confidence_pct: float
    most_names: int
    levels: tuple[RenameLevel, ...]


@once
def rename_rules() -> RenameRules:
    """The rules of ``renames.toml``."""
    return load("renames.toml", RenameRules)
