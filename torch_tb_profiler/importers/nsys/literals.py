"""Parses Python dict literals in texts of a recording, without evaluating anything."""

from __future__ import annotations

import ast
import re
from typing import Any

MAX_CHARS = 65_536
"""Longer texts are not parsed."""
MAX_DEPTH = 32
"""Most levels of nested brackets."""

_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?"""
    r"""|\b(?:True|False|None)\b"""
)
_PLAIN = re.compile(r"[\s{}\[\](),:0]*")
_MISSING_COMMA = re.compile(r"[\])}0]\s*[0\[({]")


def dict_literal(text: str) -> dict[str, Any] | None:
    """The dict that ``text`` writes with Python strings, numbers and containers; None for any other
    text, also if it is damaged, too long or too deep.

    The text given to Python's parser has no name, call or operator: nothing is evaluated, and the
    syntax tree is not deeper than the brackets.
    """
    if not text.startswith("{") or len(text) > MAX_CHARS or not _is_plain(text):
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
    if _PLAIN.fullmatch(skeleton) is None or _MISSING_COMMA.search(skeleton):
        return False
    depth = deepest = 0
    for letter in skeleton:
        depth += (letter in "{[(") - (letter in ")]}")
        deepest = max(deepest, depth)
    return deepest <= MAX_DEPTH
