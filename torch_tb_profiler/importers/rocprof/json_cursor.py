"""Reads a JSON text of any size from its beginning: keys, whole values, and arrays in batches.

Only the brackets outside strings are looked at; what is between them is decoded by the caller.
Damage inside an array costs the elements that are damaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.quality import QualityReport

BATCH_BYTES = 2 << 20
"""Elements of an array are handed over about so many bytes at a time."""

MAX_VALUE_BYTES = 256 << 20
"""Longer single values are dropped, so that memory stays bounded."""

MAX_KEY_BYTES = 1 << 16
FIRST_WINDOW_BYTES, WINDOW_GROWTH = 4096, 8
"""Brackets are searched in so much text at first, and then in ever more: most values are short."""

LOST_BYTES = 1 << 18
"""If no object of an array ends for so long, one is damaged."""

CUT_BYTES = 1 << 20
"""So much text behind a damaged object is cut by the first keys of objects."""

END = -1
"""What follows the last byte of the text."""

_BLANK = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\r\n]*:', re.DOTALL)
_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,\]}"]+', re.DOTALL)
_NEXT_LIST = re.compile(rb'\]\s*(?:,\s*"\w{1,64}"\s*:\s*[\[{]|\}\s*(?:\}|,\s*"))')
"""The end of an array whose objects are in a list of another object."""

_FIRST_KEY = re.compile(rb'\[\s*\{\s*("[^"\\]{1,64}")')
_QUOTE, _OPEN, _CLOSE, _BACKSLASH = 1, 2, 3, 4
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(b'"')] = _QUOTE
_KINDS[list(b"[{")] = _OPEN
_KINDS[list(b"]}")] = _CLOSE
_KINDS[list(b"\\")] = _BACKSLASH
_STEPS = np.array([0, 0, 1, -1, 0], np.int8)
_OPENING = tuple(b"[{")
_ARRAY_END = ord("]")


class Batch(NamedTuple):
    """Consecutive elements of an array.

    Attributes:
        text: The elements, with the commas between them.
        ends: Offset after each element.
    """

    text: bytes
    ends: Int64

    def document(self) -> bytes:
        """The elements as a JSON list."""
        return b"".join((b"[", self.text.strip(b", \t\r\n"), b"]"))

    def elements(self) -> Iterator[bytes]:
        """Each element alone."""
        start = 0
        for end in self.ends.tolist():
            yield self.text[start:end].strip(b", \t\r\n")
            start = end


class _Levels(NamedTuple):
    """Where elements end in a text that begins between two of them.

    Attributes:
        ends: Offsets after the brackets that close an element.
        close: Offset of the bracket that closes what contains the elements; None if it is further.
    """

    ends: Int64
    close: int | None


class JsonCursor:
    """A position in a text that arrives in chunks.

    Args:
        chunks: The text.
        quality: Counts damage: ``truncated`` and ``event_dropped``.
    """

    def __init__(self, chunks: Iterator[bytes], quality: QualityReport) -> None:
        self._chunks = chunks
        self._quality = quality
        self._text = b""
        self._at = 0

    def peek(self) -> int:
        """The next byte that is not white space, :data:`END` at the end."""
        while True:
            match = _BLANK.match(self._text, self._at)
            self._at = self._at if match is None else match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill(1):
                return END

    def skip(self) -> None:
        """Skip the byte that :meth:`peek` returned."""
        self._at += 1

    def key(self) -> str | None:
        """The key at the cursor, which moves behind its colon; None if there is none."""
        match = self._match(_KEY, MAX_KEY_BYTES)
        return None if match is None else match[1].decode("utf-8", "replace")

    def value(self) -> bytes:
        """The value at the cursor, which moves behind it; empty if it does not end."""
        if self.peek() not in _OPENING:
            match = self._match(_SCALAR, MAX_VALUE_BYTES)
            return b"" if match is None else match[0]
        window = FIRST_WINDOW_BYTES
        while True:
            ends = _levels(self._text, self._at, window).ends
            if len(ends):
                start, self._at = self._at, self._at + int(ends[0])
                return self._text[start : self._at]
            size = len(self._text) - self._at
            window *= WINDOW_GROWTH
            is_all = window >= WINDOW_GROWTH * size
            if is_all and (size > MAX_VALUE_BYTES or not self._fill(max(size, BATCH_BYTES))):
                return b""

    def find(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Move to the next match of ``pattern``, which is short; None if there is none."""
        while True:
            match = pattern.search(self._text, self._at)
            if match is not None:
                self._at = match.start()
                return match
            self._at = max(self._at, len(self._text) - MAX_KEY_BYTES)
            if not self._fill(BATCH_BYTES):
                self._at = len(self._text)
                return None

    def objects(self) -> Iterator[Batch]:
        """The objects of the array at the cursor, in batches; it moves behind the array.

        Where no object ends, one is damaged: what follows is cut where objects begin, by the first
        key of the array's first one, and each is the caller's to decode alone.
        """
        first = self._match(_FIRST_KEY, MAX_KEY_BYTES, moves=False)
        begins = _beginnings(b'"' if first is None else first[1])
        self.skip()
        window = FIRST_WINDOW_BYTES
        while True:
            missing = window - (len(self._text) - self._at)
            if missing > 0:
                self._fill(max(missing, BATCH_BYTES))
            ends, close = _levels(self._text, self._at, window)
            start, size = self._at, len(self._text) - self._at
            is_enough = window >= min(LOST_BYTES, size)
            is_all = window >= min(MAX_VALUE_BYTES, size)
            if len(ends):
                self._at += int(ends[-1])
                yield Batch(self._text[start : self._at], ends)
            if close is None and not len(ends):
                window = min(WINDOW_GROWTH * window, MAX_VALUE_BYTES)
            else:
                reach = WINDOW_GROWTH * (self._at - start)
                window = max(FIRST_WINDOW_BYTES, min(reach, BATCH_BYTES))
            if close is not None:
                self._at = start + close + 1
                if self._text[start + close] == _ARRAY_END:
                    return
                self._quality.add("event_dropped")
            elif not len(ends) and is_enough and self._is_stuck():
                batch = self._cut(begins)
                if len(batch.ends):
                    window = FIRST_WINDOW_BYTES
                    yield batch
                elif is_all and (size >= MAX_VALUE_BYTES or not self._fill(size)):
                    self._quality.add("truncated")
                    self._at = len(self._text)
                    return

    def _is_stuck(self) -> bool:
        """Whether no object ends because of damage, and not because more text is needed."""
        size = len(self._text) - self._at
        return size > LOST_BYTES or not self._fill(BATCH_BYTES)

    def _cut(self, begins: re.Pattern[bytes]) -> Batch:
        """The objects behind the cursor, cut where ``begins`` matches, up to the end of the array;
        one that begins but does not end is left for later."""
        stop = min(len(self._text), self._at + CUT_BYTES)
        next_list = _NEXT_LIST.search(self._text, self._at, stop)
        if next_list is not None:
            stop = next_list.start()
        starts = [match.start(1) for match in begins.finditer(self._text, self._at + 1, stop)]
        start = self._at
        ends = [*starts, stop] if next_list is not None else starts
        self._at = ends[-1] if ends else start
        return Batch(self._text[start : self._at], np.array(ends, np.int64) - start)

    def _match(
        self, pattern: re.Pattern[bytes], most_bytes: int, *, moves: bool = True
    ) -> re.Match[bytes] | None:
        """The match of ``pattern`` at the cursor, with text after it or at the end."""
        self.peek()
        match = pattern.match(self._text, self._at)
        while match is None or match.end() == len(self._text):
            size = len(self._text) - self._at
            if size > most_bytes or not self._fill(max(size, 1)):
                break
            match = pattern.match(self._text, self._at)
        if match is not None and moves:
            self._at = match.end()
        return match

    def _fill(self, wanted_bytes: int) -> bool:
        """Drop the text before the cursor and append at least ``wanted_bytes``, if there are as
        many; whether there was more text."""
        parts = [self._text[self._at :]]
        added = 0
        while added < wanted_bytes and (chunk := next(self._chunks, b"")):
            parts.append(chunk)
            added += len(chunk)
        self._text, self._at = b"".join(parts), 0
        return added > 0


def _beginnings(first_key: bytes) -> re.Pattern[bytes]:
    """The beginning of a further object of an array, as the group."""
    return re.compile(rb"[,}\]]\s*(\{\s*%b)" % re.escape(first_key))


def _levels(text: bytes, start: int, size: int) -> _Levels:
    """Where elements end in ``size`` bytes of ``text`` from ``start`` on; offsets count from
    there."""
    count = min(size, len(text) - start)
    kinds = _KINDS[np.frombuffer(text, np.uint8, count, start)]
    at = np.flatnonzero(kinds)
    kind = kinds[at]
    if (kind == _BACKSLASH).any():
        is_escaped = _is_escaped(at[kind == _BACKSLASH], len(kinds))
        is_structure = (kind != _BACKSLASH) & ~is_escaped[at]
        at, kind = at[is_structure], kind[is_structure]
    is_outside = np.cumsum(kind == _QUOTE) & 1 == 0
    step = np.where(is_outside, _STEPS[kind], 0)
    depth = np.cumsum(step, dtype=np.int64)
    below = np.flatnonzero(depth < 0)
    close = None
    if len(below):
        close = int(at[below[0]])
        at, depth, step = at[: below[0]], depth[: below[0]], step[: below[0]]
    return _Levels(at[(depth == 0) & (step < 0)] + 1, close)


def _is_escaped(backslashes: Int64, size: int) -> Bools:
    """Per byte of a text whether an odd number of backslashes precedes it."""
    is_last = np.ones(len(backslashes), np.bool_)
    is_last[:-1] = np.diff(backslashes) != 1
    last = np.flatnonzero(is_last)
    lengths = np.diff(last, prepend=-1)
    is_escaped = np.zeros(size + 1, np.bool_)
    is_escaped[backslashes[last[lengths % 2 == 1]] + 1] = True
    return is_escaped
