"""What a recording answers and what it does not: the answer of ``doctor``."""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.views import TraceRef
from torch_tb_profiler.views.schema import Severity

Coverage = Literal["yes", "partly", "no", "not applicable"]
"""How far a recording answers a question."""


class SourcePayload(msgspec.Struct, frozen=True):
    """Where an answer stands: ``column`` of a table, or ``fact`` of a view."""

    view: str
    table: str | None
    column: str | None
    fact: str | None
    group_by: str | None


class CoveredQuestion(msgspec.Struct, frozen=True):
    """A question and how far the recording answers it.

    Attributes:
        code: Stable name of the question.
        question: The question.
        answer: How far it is answered.
        sources: What answers it; of one that is not answered, what would.
        reason: Why it is not answered, or not whole; None where it is.
        options: Options of the recorder that record what is missing; empty where none is known.
        instead: How to get an answer otherwise; None where options do, or it is answered.
    """

    code: str
    question: str
    answer: Coverage
    sources: tuple[SourcePayload, ...]
    reason: str | None = None
    options: tuple[str, ...] = ()
    instead: str | None = None


class RecordingProblem(msgspec.Struct, frozen=True):
    """What is wrong with the recording itself.

    Attributes:
        code: Stable name: of a quality note, of a finding, or ``few_steps``.
        severity: ``warning`` where numbers are wrong or missing.
        text: A sentence or more.
        count: Number of cases; None where they are not counted.
    """

    code: str
    severity: Severity
    text: str
    count: int | None = None


class OptionCost(msgspec.Struct, frozen=True):
    """What an option adds to the recorded steps, as measured (``docs/performance.md``)."""

    option: str
    cost: str


class RecordingCode(msgspec.Struct, frozen=True):
    """Code to copy that records what is missing.

    Attributes:
        language: Language of the code.
        code: The code.
        costs: What its options cost, as far as that was measured.
        otherwise: A command that records much of it without a change of the program; None if there
            is none.
    """

    language: Literal["python", "shell"]
    code: str
    costs: tuple[OptionCost, ...] = ()
    otherwise: str | None = None


class RecordingCoverage(Answer, kw_only=True):
    """What one recording answers.

    Attributes:
        trace: Which recording; the questions about a job are about all of its ranks.
        ranks: Number of workers of its run.
        recorder: The recorder; None if unknown.
        answer: The result in a sentence.
        questions: All questions, in the order of ``knowledge/questions.toml``.
        problems: What is wrong with the recording, warnings first.
        record: Code that records what is missing; None where nothing is, or the recorder is
            unknown.
    """

    trace: TraceRef
    ranks: int
    recorder: str | None
    answer: str
    questions: tuple[CoveredQuestion, ...]
    problems: tuple[RecordingProblem, ...]
    record: RecordingCode | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """The questions as a table: ``code``, ``question``, ``answer``, ``reason``, ``options``
        (joined by commas), all text."""
        rows = [
            (each.code, each.question, each.answer, each.reason, ", ".join(each.options) or None)
            for each in self.questions
        ]
        names = ("code", "question", "answer", "reason", "options")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
