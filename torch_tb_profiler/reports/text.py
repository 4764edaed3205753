"""Text from traces made safe and short for people: control characters, width, shortening."""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"

DEVICE_NAMES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE)
"""What Windows takes for a device, with any extension; no file has such a name."""

_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}
"""Control, format (bidirectional overrides among them), surrogate, line and paragraph separators,
private use, unassigned: a terminal may act on them, and nobody can read them."""


def visible(text: str) -> str:
    """``text`` with every character that a terminal could act on written as ``\\x1b``, ``\\u202e``.

    A line feed becomes ``\\n``, so one value stays on one line.
    """
    if text.isprintable():
        return text
    unsafe = {each for each in set(text) if unicodedata.category(each) in _UNSAFE_CATEGORIES}
    return text.translate({ord(each): _mark(each) for each in unsafe})


def _mark(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display_width(text: str) -> int:
    """How many cells of a terminal ``text`` takes (East Asian wide characters take two)."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, shortened in the middle: two thirds of what is left are
    its start, one third its end.

    ``width`` of 1 leaves the ellipsis alone; below 1 nothing.
    """
    fits = len(text) <= width if text.isascii() else _fitting(text, width) == text
    if fits:
        return text
    if width <= 1:
        return ELLIPSIS[:width] if width > 0 else ""
    room = width - 1
    head = _fitting(text, room - room // 3)
    tail = _fitting(text[::-1], room // 3)[::-1]
    return head + ELLIPSIS + tail


def _fitting(text: str, width: int) -> str:
    """The longest start of ``text`` that takes at most ``width`` cells."""
    used = 0
    for position, character in enumerate(text):
        used += _cells(character)
        if used > width:
            return text[:position]
    return text
