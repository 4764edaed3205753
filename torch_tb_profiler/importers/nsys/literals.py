"""Python literals in texts of a recording, read as data."""

from __future__ import annotations

import ast
import re
from typing import Any

LONGEST = 65_536
"""Longer texts are not read as literals."""
DEEPEST = 32
"""Brackets inside one another."""

_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?"""
    r"""|\b(?:True|False|None)\b"""
)
_PLAIN = re.compile(r"[\s{}\[\](),:0]*")
_NO_LIST = re.compile(r"[\])}0]\s*[0\[({]")


def dict_literal(text: str) -> dict[str, Any] | None:
    """The dict that ``text`` writes with Python's strings, numbers and containers alone; None for
    anything else, be it damaged, too long or too deep.

    What the parser of Python is given has no name, call or operator: nothing is evaluated, and
    no text makes a tree deeper than its brackets.
    """
    if not text.startswith("{") or len(text) > LONGEST or not _is_plain(text):
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        return None
    return value


def _is_plain(text: str) -> bool:
    skeleton = _TOKEN.sub("0", text)
    if _PLAIN.fullmatch(skeleton) is None or _NO_LIST.search(skeleton):
        return False
    depth = deepest = 0
    for letter in skeleton:
        depth += (letter in "{[(") - (letter in ")]}")
        deepest = max(deepest, depth)
    return deepest <= DEEPEST
