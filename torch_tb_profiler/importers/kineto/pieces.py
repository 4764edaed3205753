"""The text of a file → the header, pieces of the event array, and the text after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torch_tb_profiler.importers.kineto.array_start import EventArrayFinder
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.documents import list_start
from torch_tb_profiler.importers.kineto.times import has_unpadded_decimals

PIECE_BYTES = 4 << 20
"""Fastest in measurements: the events of a piece stay in the CPU cache; smaller pieces cost more
calls."""
MAX_HEADER_BYTES = 32 << 20
MAX_TAIL_BYTES = 16 << 20

START_BYTES = 1 << 16
SEARCH_BYTES = 1 << 18
LONG_FACTOR = 2
"""After this many piece lengths without a boundary at the learned keys, any common key will do."""
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})\b')
MAX_PIECE_BYTES = 1 << 28
"""A longer event is dropped, so that memory stays bounded."""


class EventPiece(NamedTuple):
    """A part of the event array.

    Attributes:
        text: Whole events as a JSON list ``[{…},{…}]``. The last piece has no added brackets: it
            holds the last event and whatever follows it.
        is_last: Whether the file ends with this piece.
    """

    text: bytes
    is_last: bool


class EventPieces:
    """Iterates over pieces of the event array.

    Attributes:
        header: The text before the events, ending with the opening bracket of the array.
        boundaries: Finds where events begin, learned from the head of the file.
    """

    def __init__(self, chunks: Iterator[bytes], piece_bytes: int = PIECE_BYTES) -> None:
        """Read the header and the first events."""
        self._chunks = chunks
        self._piece_bytes = piece_bytes
        self.header, self._start = self._split_header()
        while len(self._start) < START_BYTES and (chunk := next(chunks, b"")):
            self._start += chunk
        head = self._start[:START_BYTES]
        base = BASE.search(self.header)
        self.boundaries = EventBoundaries(
            head, has_unpadded_decimals(self.header, head), None if base is None else int(base[1])
        )

    def _split_header(self) -> tuple[bytes, bytes]:
        """The header, up to the opening bracket of the event array if there is one, and the
        rest."""
        buffer = bytearray()
        array = EventArrayFinder()
        first = b""
        for chunk in self._chunks:
            buffer += chunk
            first = first or bytes(buffer.lstrip()[:1])
            if first == b"[":
                at = list_start(bytes(buffer)) or buffer.index(b"[") + 1
                return bytes(buffer[:at]), bytes(buffer[at:])
            if array.is_final(buffer) or len(buffer) > MAX_HEADER_BYTES:
                break
        end = len(buffer) if array.end is None else array.end
        return bytes(buffer[:end]), bytes(buffer[end:])

    @property
    def has_events(self) -> bool:
        """Whether the header ends at an event array."""
        return self.header.endswith(b"[")

    def __iter__(self) -> Iterator[EventPiece]:
        parts = [self._start]
        size = len(self._start)
        for chunk in self._merged_chunks():
            parts.append(chunk)
            size += len(chunk)
            if size < self._piece_bytes:
                continue
            is_long = size > LONG_FACTOR * self._piece_bytes
            boundary = self.boundaries.last(
                chunk, self.boundaries.common if is_long else self.boundaries.learned
            )
            if boundary is not None:
                parts[-1] = chunk[: boundary.end]
                yield _whole(parts)
                parts = [chunk[boundary.start :]]
                size = len(parts[0])
            elif size > MAX_PIECE_BYTES:
                yield _whole(parts)
                parts = []
                size = 0
        rest = b"".join(parts)
        boundary = self.boundaries.last(rest, self.boundaries.learned)
        if boundary is not None:
            yield _whole([rest[: boundary.end]])
            rest = rest[boundary.start :]
        yield EventPiece(rest, is_last=True)

    def _merged_chunks(self) -> Iterator[bytes]:
        """The chunks, with small ones merged, so that fewer are searched for a boundary."""
        min_bytes = min(SEARCH_BYTES, self._piece_bytes)
        parts: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= min_bytes:
                yield b"".join(parts) if len(parts) > 1 else chunk
                parts = []
                size = 0
        if parts:
            yield b"".join(parts)


def _whole(parts: list[bytes]) -> EventPiece:
    return EventPiece(b"".join((b"[", *parts, b"]")), is_last=False)
