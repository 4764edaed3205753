"""Values of a dump of which nothing is certain: texts, numbers, lists."""

from __future__ import annotations

import re
from typing import Any

MAX_CHARS = 400
MAX_RANKS = 1 << 20
MAX_NUMBER = 2**62
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_NUMBERS = re.compile(r"\d{1,7}")


def text_of(value: Any, most: int = MAX_CHARS) -> str:
    """A text of at most ``most`` characters; a number as text; empty for anything else."""
    if isinstance(value, str):
        return value[:most].encode("utf-8", "replace").decode()
    return str(value)[:most] if isinstance(value, int) and not isinstance(value, bool) else ""


def number_of(value: Any) -> int | None:
    """A whole number within 62 bits, also written as text; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < MAX_NUMBER:
        return None
    return value


def time_of(value: Any) -> int | None:
    """A time in nanoseconds since 1970; None where it is absent or 0."""
    number = number_of(value)
    return number if number is not None and number > 0 else None


def list_of(value: Any) -> list[Any]:
    """A list or tuple as a list; an empty one for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def dict_of(value: Any) -> dict[Any, Any]:
    """A dict; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def ranks_of(value: Any) -> list[int] | None:
    """The members of a group in their order, ``"[0, 1]"`` or a list; None where none is listed."""
    if isinstance(value, str):
        numbers = [int(each) for each in _NUMBERS.findall(value)]
    else:
        numbers = [each for each in map(number_of, list_of(value)) if each is not None]
    members = list(dict.fromkeys(each for each in numbers if 0 <= each < MAX_RANKS))
    return members or None
