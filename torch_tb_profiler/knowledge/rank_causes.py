"""Why a rank is slow: names of pauses, thresholds and texts of ``rank_causes.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

MAX_NAME_CHARS = 300
"""Longer names are of generated code, not of a pause."""


class PauseRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of one kind of pause; the head of the file explains the fields."""

    kind: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class RankCausesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``rank_causes.toml``."""

    pauses: tuple[PauseRule, ...]


@once
def rank_causes_file() -> RankCausesFile:
    """The entries of the file."""
    return load("rank_causes.toml", RankCausesFile)


@once
def _checkpoints() -> re.Pattern[str]:
    rules = rank_causes_file().pauses
    return re.compile("|".join(f"(?:{rule.pattern})" for rule in rules), re.IGNORECASE)


@lru_cache(maxsize=65536)
def is_checkpoint(name: str) -> bool:
    """Whether a range or a Python frame of this name writes a checkpoint."""
    return len(name) <= MAX_NAME_CHARS and _checkpoints().fullmatch(name) is not None
