"""Why GPUs run nothing: the causes by key, with words for people."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class IdleCauseText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people read of one cause.

    Attributes:
        key: Stable name.
        title: For people.
        meaning: What is true of a moment that is given to it.
        remedy: What to do about it.
    """

    key: str
    title: str
    meaning: str
    remedy: str


class IdleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``idle.toml``."""

    causes: tuple[IdleCauseText, ...]


@once
def idle_file() -> IdleFile:
    """The entries as they stand in the file."""
    return load("idle.toml", IdleFile)
