"""File problems that are reported before all other findings."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Damage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """File problems with the same consequence.

    Attributes:
        code: Stable name of their note.
        title: Title of the note.
        issues: Codes of the quality notes that are such problems.
        text: Format string over ``issues``, the sentences of these notes.
    """

    code: str
    title: str
    issues: tuple[str, ...]
    text: str


class DamageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``damage.toml``."""

    damage: tuple[Damage, ...]


@once
def damages() -> tuple[Damage, ...]:
    """All of them, in the order in which they are reported."""
    return load("damage.toml", DamageFile).damage
