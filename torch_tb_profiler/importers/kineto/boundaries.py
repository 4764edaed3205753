"""Boundaries between events, found without parsing.

All events of a file begin with the same key (``"ph"`` in most); ``}, {"ph":`` occurs between two
events and practically nowhere else, because an object inside an event follows a colon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

COMMON_KEYS = (b"ph", b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"id", b"args")
FIRST_KEY = re.compile(rb'[\s,]*\{\s*"([^"\\]{1,64})"\s*:')
EMPTY_EVENT = rb"|\}"
BACK_STEP_BYTES = 1 << 16
OVERLAP_BYTES = 1024


class EventBoundary(NamedTuple):
    """A boundary between two events: the end of the first, and the start of the next."""

    end: int
    start: int


class EventBoundaries:
    """Finds event boundaries in pieces of one file.

    Attributes:
        learned: Matches a boundary before a key that events at the start of the file begin with.
        common: Matches a boundary before any common key or an empty event; may match elsewhere.
        has_unpadded_times: Whether decimals of times lack their leading zeros. It is here because
            the reader of a piece gets only this object of what is known about the file.
        base: The time base that the header states before the events, likewise; None for none.
    """

    def __init__(
        self, head: bytes, has_unpadded_times: bool = False, base: int | None = None
    ) -> None:
        """Learn the first keys of events from ``head``, the start of the event array."""
        self.has_unpadded_times = has_unpadded_times
        self.base = base
        match = FIRST_KEY.match(head)
        first = match[1] if match else COMMON_KEYS[0]
        seen = {match["key"] for match in _between(COMMON_KEYS).finditer(head)}
        self.learned = _between(sorted({first} | seen))
        self.common = _between([first, *COMMON_KEYS], EMPTY_EVENT)

    def first_after(self, piece: bytes, position: int) -> int:
        """Start of the first event after ``position``; the length of ``piece`` without one."""
        match = self.learned.search(piece, position)
        return match.start(1) if match else len(piece)

    def last(self, buffer: bytes, pattern: re.Pattern[bytes]) -> EventBoundary | None:
        """The last boundary in ``buffer``; None without one."""
        low = len(buffer)
        while low > 0:
            high, low = low, max(0, low - BACK_STEP_BYTES)
            matches = list(pattern.finditer(buffer, low, min(len(buffer), high + OVERLAP_BYTES)))
            if matches:
                return EventBoundary(matches[-1].start() + 1, matches[-1].start(1))
        return None


def _between(keys: Sequence[bytes], or_else: bytes = b"") -> re.Pattern[bytes]:
    names = b"|".join(map(re.escape, keys))
    return re.compile(rb'\}[\s,]*(\{)\s*(?:"(?P<key>' + names + rb')"\s*:' + or_else + rb")")
