"""Questions, their answers and walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

FILE = Path(__file__).with_name("questions.toml")


class Call(Struct, forbid_unknown_fields=True, frozen=True):
    """One call of a tool."""

    tool: str
    arguments: dict[str, Any] = {}


class Question(Struct, forbid_unknown_fields=True, frozen=True):
    """A question with an exact answer.

    Attributes:
        id: Short and unique.
        folder: The log directory: ``samples`` or ``corpus``.
        text: The question as a person asks it.
        answer: A number, or words that the answer must have.
        unit: Unit of the number.
        digits: Significant digits to which the tool must show the number.
        truth: How the answer was known without the product (``truths.py``).
        walk: The calls that reach it; the last answer has it.
        line: A regular expression for the line of the last answer with it.
    """

    id: str
    folder: str
    text: str
    answer: float | str
    truth: dict[str, Any]
    walk: list[Call]
    unit: str = ""
    digits: int = 4
    line: str = ""


class _File(Struct, forbid_unknown_fields=True):
    question: list[Question]


def questions() -> list[Question]:
    """All of them.

    Raises:
        msgspec.ValidationError: the file has mistakes.
    """
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).question
