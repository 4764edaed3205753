"""Locates the event array of a file: not every ``"traceEvents": [`` is it."""

from __future__ import annotations

import re
from typing import NamedTuple

EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|("[^"\\]*(?:\\.[^"\\]*)*\\?\Z)', re.DOTALL)
"""An unclosed string, the group, matches up to the end of the text: retrying at each of its escaped
quotes would take quadratic time."""
NON_BLANK = re.compile(rb"\S")

KEY_OVERLAP = 64
"""The search resumes this many bytes before the end of the last chunk, so that no key is missed."""

SEARCH_BEYOND_BYTES = 4 << 20
"""How far after the first key a better one is searched; the text in between is buffered and read as
one piece."""


class ArrayCandidate(NamedTuple):
    """An array under the key ``traceEvents``; a greater candidate is more likely the event array.

    Attributes:
        is_filled: Its first item is an object.
        is_top_level: Its key is in the outermost object. Otherwise it is the event array of a trace
            wrapped in another object, or user metadata.
    """

    is_filled: bool
    is_top_level: bool


class EventArrayFinder:
    """Searches the growing head of a file for the event array.

    That is the first filled array at top level, else the first of the best candidates: a wrapped
    trace has no better one, an empty recording only an empty one.

    Attributes:
        end: Offset after the opening bracket of the best candidate; None without one.
    """

    def __init__(self) -> None:
        self.end: int | None = None
        self._best: ArrayCandidate | None = None
        self._first_end: int | None = None
        self._searched = 0
        self._scanned = 0
        self._depth = 0

    def is_final(self, text: bytearray) -> bool:
        """Whether more text cannot change the result.

        Args:
            text: The file so far; longer with every call.
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
        return self._first_end is not None and len(text) > self._first_end + SEARCH_BEYOND_BYTES

    def _depth_at(self, text: bytearray, position: int) -> int:
        """Number of open brackets; an estimate if strings contain unescaped quotes."""
        text_outside_strings = STRING.sub(rb"\1", bytes(text[self._scanned : position]))
        opened, closed = (sum(map(text_outside_strings.count, pair)) for pair in (b"{[", b"}]"))
        self._depth += opened - closed
        self._scanned = position
        return self._depth
