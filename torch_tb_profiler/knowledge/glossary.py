"""Terms of the answers and what they mean: ``glossary.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class GlossaryTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One term.

    Attributes:
        term: The term, in lower case where it is no abbreviation.
        meaning: What it means here, and how it is counted.
        docs: Page and section of ``docs/`` that defines it: ``"metrics.md#steps"``.
        other_names: What people also call it.
    """

    term: str
    meaning: str
    docs: str
    other_names: tuple[str, ...] = ()


class GlossaryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``glossary.toml``."""

    terms: tuple[GlossaryTerm, ...]


@once
def glossary() -> tuple[GlossaryTerm, ...]:
    """All terms, in the order of the file."""
    return load("glossary.toml", GlossaryFile).terms
