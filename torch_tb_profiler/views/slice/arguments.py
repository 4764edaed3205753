"""The arguments of one event as its file has them, bounded, and without what may be secret."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from msgspec import Struct

from torch_tb_profiler.knowledge.arguments import is_secret

MAX_ARGUMENTS = 200
MAX_VALUE_CHARS = 10_000
MAX_NAME_CHARS = 200
MAX_SEARCHED_CHARS = 1 << 20
"""Longer values are not looked through for secrets, and not shown."""


class RecordedArgument(Struct, frozen=True):
    """One argument as it stands in the file.

    Attributes:
        name: Its name.
        text: Of a text what it says, of all else its JSON; None if it may be secret or is too long.
        is_text: Whether it is a text.
        chars: Characters of all of it; of those ``text`` has the first :data:`MAX_VALUE_CHARS`.
        in_model: Whether the trace has it in a column.
    """

    name: str
    text: str | None
    is_text: bool
    chars: int
    in_model: bool


def recorded_arguments(
    arguments: Mapping[str, str], known: Collection[str]
) -> list[RecordedArgument]:
    """The first :data:`MAX_ARGUMENTS` of some arguments.

    Args:
        arguments: Name → JSON text of the value, in the order of the file.
        known: Names of those that the trace has in columns.
    """
    return [
        _recorded(name, json_text, in_model=name in known)
        for name, json_text in list(arguments.items())[:MAX_ARGUMENTS]
    ]


def _recorded(name: str, json_text: str, *, in_model: bool) -> RecordedArgument:
    is_text = json_text.startswith('"')
    shown = name[:MAX_NAME_CHARS]
    if len(json_text) > MAX_SEARCHED_CHARS or is_secret(name, json_text):
        return RecordedArgument(shown, None, is_text, len(json_text), in_model)
    text = _plain(json.loads(json_text)) if is_text else json_text
    return RecordedArgument(shown, text[:MAX_VALUE_CHARS], is_text, len(text), in_model)


def _plain(text: str) -> str:
    """A text with lone surrogates, which no answer can hold, as replacement characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
