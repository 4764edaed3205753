"""Where one event ends and the next begins, found without parsing.

All events of a file begin with the same key (``"ph"`` in most); ``}, {"ph":`` stands between two
events and practically nowhere else, because an object inside an event follows a colon.
"""

from __future__ import annotations

import re

COMMON_KEYS = (b"ph", b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"id", b"args")
FIRST_KEY = re.compile(rb'[\s,]*\{\s*"([^"\\]{1,64})"\s*:')
BACK_STEP_BYTES = 1 << 16


class Cuts:
    """Finds event starts in pieces of one file."""

    def __init__(self, head: bytes) -> None:
        """Learn the first key from ``head``, which stands inside the event array."""
        found = FIRST_KEY.match(head)
        self.key = found[1] if found else b"ph"
        self._learned = _between([self.key])
        self._common = _between([*COMMON_KEYS, self.key])

    def first_after(self, piece: bytes, position: int) -> int:
        """Start of the first event that begins after ``position``; the length if none does."""
        found = self._learned.search(piece, position)
        return found.start(1) if found else len(piece)

    def last_before(self, buffer: bytes | bytearray, start: int) -> int:
        """Start of the last event that begins in ``buffer[start:]``; -1 if none is seen."""
        for pattern in (self._learned, self._common):
            low = len(buffer)
            while low > start:
                low = max(start, low - BACK_STEP_BYTES)
                starts = [found.start(1) for found in pattern.finditer(buffer, low)]
                if starts:
                    return starts[-1]
        return -1


def _between(keys: list[bytes]) -> re.Pattern[bytes]:
    return re.compile(rb'\}[\s,]*(\{)\s*"(?:' + b"|".join(map(re.escape, keys)) + rb')"\s*:')
