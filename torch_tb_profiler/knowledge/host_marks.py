"""Slices on the host that mark compilation, garbage collection and similar, by their names."""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

MarkKind = Literal["region", "lookup", "entry", "compilation", "collection", "collect", "gradcheck"]

MARK_KINDS: tuple[MarkKind, ...] = get_args(MarkKind)
"""All kinds; the head of ``host_marks.toml`` explains each."""


class HostMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of one kind.

    Attributes:
        kind: What they mark.
        pattern: Regular expression of whole names.
        examples: Names that must match this entry (tests check each).
        counter_examples: Names that must not match.
    """

    kind: MarkKind
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class HostMarksFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``host_marks.toml``."""

    marks: tuple[HostMark, ...]


@once
def host_marks_file() -> HostMarksFile:
    """The entries of the file."""
    return load("host_marks.toml", HostMarksFile)


@once
def _compiled() -> re.Pattern[str]:
    """All patterns as one, each a group of the name of its kind."""
    parts = (f"(?P<{mark.kind}>{mark.pattern})" for mark in host_marks_file().marks)
    return re.compile("|".join(parts))


def mark_kind(name: str) -> MarkKind | None:
    """What a slice of this name marks; None for other names."""
    match = _compiled().fullmatch(name)
    if match is None:
        return None
    return next(kind for kind in MARK_KINDS if match[kind] is not None)
