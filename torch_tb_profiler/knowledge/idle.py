"""Causes of idle time: titles, meanings and remedies by key."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class IdleCauseText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of one cause.

    Attributes:
        key: Stable name.
        title: Title.
        because: What the GPU waits for, as the end of a sentence.
        meaning: What happens in a moment of this cause.
        remedy: What to do about it.
    """

    key: str
    title: str
    because: str
    meaning: str
    remedy: str


class IdleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``idle.toml``."""

    causes: tuple[IdleCauseText, ...]


@once
def idle_file() -> IdleFile:
    """The entries of the file."""
    return load("idle.toml", IdleFile)
