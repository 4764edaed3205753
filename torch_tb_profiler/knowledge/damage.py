"""Which damages of a recording are told before everything else."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Damage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Damages with the same consequence.

    Attributes:
        code: Stable name of the note that tells them.
        title: For people.
        issues: Codes of the quality notes that are such damages.
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
    """All of them, in the order in which they are told."""
    return load("damage.toml", DamageFile).damage
