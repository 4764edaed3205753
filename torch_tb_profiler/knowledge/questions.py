"""Questions that people have of a recording, and what answers them: ``questions.toml``."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

QuestionScope = Literal["any", "device", "job", "feature"]
"""Which recordings a question is about: all, those of programs with a device, of several ranks, or
of programs that use what its views are about."""


class AnswerSource(msgspec.Struct, frozen=True):
    """Where an answer stands.

    Attributes:
        view: Name of the view.
        table: Name of the table; None for a fact of the view.
        key: Key of the column or of the fact.
        group_by: The grouping with which the column has values; None for the view's default.
    """

    view: str
    table: str | None
    key: str
    group_by: str | None = None


class AnswerPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of an answer, which any of ``sources`` gives.

    Attributes:
        sources: As text, ``"view.table.column@group_by"`` or ``"view.fact"``.
        rows: Number of rows with a value that it needs at least.
        of_device: Whether it is about devices: not a part for programs that saw none.
    """

    sources: tuple[str, ...]
    rows: int = 1
    of_device: bool = False

    def parsed_sources(self) -> tuple[AnswerSource, ...]:
        """The sources, in order."""
        return tuple(map(_parse_source, self.sources))


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question.

    Attributes:
        code: Stable name.
        text: The question.
        topic: What one sees where it is answered.
        records: What a recorder must record: capabilities, or recordings of another kind.
        parts: What an answer consists of.
        scope: Which recordings it is about.
        framework: The framework of the programs it is about; None for any.
        instead: How to get an answer where that is not a matter of options of a recorder.
    """

    code: str
    text: str
    topic: str
    records: tuple[str, ...]
    parts: tuple[AnswerPart, ...]
    scope: QuestionScope = "any"
    framework: str | None = None
    instead: str | None = None


class QuestionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``questions.toml``.

    Attributes:
        questions: The questions.
        general_words: Words of a question in one's own words that name nothing to see.
        issues: Codes of quality notes that concern how was recorded, although no event is lost.
        few_steps: Sentence about fewer whole steps than ``least_steps``, with ``{steps}`` and
            ``{noun}``.
        least_steps: Steps from which on their variation is known.
        no_device: Why questions about devices do not apply to a program that saw none.
        other_framework: Why questions about a framework do not apply to programs of another one.
        one_rank: Why questions about a job do not apply to a program of one process.
    """

    questions: tuple[Question, ...]
    general_words: frozenset[str]
    issues: tuple[str, ...]
    few_steps: str
    least_steps: int
    no_device: str
    other_framework: str
    one_rank: str


@once
def question_file() -> QuestionFile:
    """The contents of the file."""
    return load("questions.toml", QuestionFile)


def _parse_source(text: str) -> AnswerSource:
    location, _, group_by = text.partition("@")
    view, *table, key = location.split(".")
    return AnswerSource(view, table[0] if table else None, key, group_by or None)
