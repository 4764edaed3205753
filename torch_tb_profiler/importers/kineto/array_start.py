"""Where the event array of a file begins: not every ``"traceEvents": [`` is the one."""

from __future__ import annotations

import re
from typing import NamedTuple

EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
STRING_OR_BRACKET = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|(?P<unclosed>\\?\Z))|[{\[}\]]', re.DOTALL
)
"""A string without end reaches to the end: looked at anew from each of its escaped quotes, it
would take time by the square of its length."""
NON_BLANK = re.compile(rb"\S")

KEY_OVERLAP = 64
"""A match that begins before the last chunk's end is not missed within this many bytes."""

LOOK_BEYOND_BYTES = 4 << 20
"""So far behind the first key a better one is looked for; what is held back meanwhile is read
later, as one piece."""


class ArrayCandidate(NamedTuple):
    """An array under the key of the events; the greater one is the likelier.

    Attributes:
        is_filled: Its first item is an object.
        is_top_level: Its key stands in the outermost object. One that does not is the event array
            of a trace wrapped in another object, or somebody's metadata.
    """

    is_filled: bool
    is_top_level: bool


class ArrayStart:
    """Looks for the event array in the growing beginning of a file.

    That is the first filled array at top level, else the first of the likeliest: a wrapped trace
    has no better one, an empty recording only an empty one.

    Attributes:
        end: Where its first item may begin, None while there is no candidate.
    """

    def __init__(self) -> None:
        self.end: int | None = None
        self._best: ArrayCandidate | None = None
        self._first_end: int | None = None
        self._searched = 0
        self._scanned = 0
        self._depth = 0

    def is_settled(self, text: bytearray) -> bool:
        """Whether more text would change nothing.

        Args:
            text: The file up to here; longer with every call.
        """
        while (match := EVENTS_KEY.search(text, self._searched)) is not None:
            item = NON_BLANK.search(text, match.end())
            is_filled = item is not None and item[0] == b"{"
            candidate = ArrayCandidate(is_filled, self._depth_at(text, match.start()) == 1)
            if self._best is None or candidate > self._best:
                self._best, self.end = candidate, match.end()
            if all(candidate):
                return True
            if self._first_end is None:
                self._first_end = match.end()
            if item is None:
                self._searched = match.start()
                return False
            self._searched = match.end()
        self._searched = max(self._searched, len(text) - KEY_OVERLAP)
        return self._first_end is not None and len(text) > self._first_end + LOOK_BEYOND_BYTES

    def _depth_at(self, text: bytearray, position: int) -> int:
        """How many brackets are open; only a guess where strings hold unescaped quotes."""
        for token in STRING_OR_BRACKET.finditer(text, self._scanned, position):
            if token["unclosed"] is not None or len(token[0]) == 1:
                opened, closed = ((token[0].count(b) for b in pair) for pair in (b"{[", b"}]"))
                self._depth += sum(opened) - sum(closed)
        self._scanned = position
        return self._depth
