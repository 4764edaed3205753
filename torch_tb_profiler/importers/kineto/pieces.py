"""The bytes of a file → the header, pieces of the event array, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torch_tb_profiler.importers.kineto.array_start import ArrayStart
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.times import has_unpadded_decimals

PIECE_BYTES = 4 << 20
"""Measured best: events of a piece stay in the processor's cache; smaller ones cost calls."""
MAX_HEADER_BYTES = 32 << 20
MAX_TAIL_BYTES = 16 << 20

START_BYTES = 1 << 16
SEARCH_BYTES = 1 << 18
LONG_FACTOR = 4
"""Without a cut at the learned key, one at any common key will do after this many pieces."""
MAX_PIECE_BYTES = 1 << 28
"""An event longer than this is given up, so that memory stays bounded."""


class EventPiece(NamedTuple):
    """A part of the event array.

    Attributes:
        text: Whole events as a JSON list ``[{…},{…}]``. The last piece has no brackets of its
            own: it holds the last event and whatever follows it.
        is_last: Whether the file ends with this piece.
    """

    text: bytes
    is_last: bool


class EventPieces:
    """Iterates over pieces of the event array.

    Attributes:
        header: The text before the events, ending with the opening bracket of the array.
        cuts: Where events begin, and what else the start of the file tells.
    """

    def __init__(self, chunks: Iterator[bytes], piece_bytes: int = PIECE_BYTES) -> None:
        """Read up to the first events."""
        self._chunks = chunks
        self._piece_bytes = piece_bytes
        self.header, self._start = self._split_header()
        while len(self._start) < START_BYTES and (chunk := next(chunks, b"")):
            self._start += chunk
        head = self._start[:START_BYTES]
        self.cuts = EventBoundaries(head, has_unpadded_decimals(self.header, head))

    def _split_header(self) -> tuple[bytes, bytes]:
        """The header, which ends with the bracket of the event array if there is one."""
        buffer = bytearray()
        array = ArrayStart()
        first = b""
        for chunk in self._chunks:
            buffer += chunk
            first = first or bytes(buffer.lstrip()[:1])
            if first == b"[":
                at = buffer.index(b"[") + 1
                return bytes(buffer[:at]), bytes(buffer[at:])
            if array.is_settled(buffer) or len(buffer) > MAX_HEADER_BYTES:
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
        for chunk in self._gathered():
            parts.append(chunk)
            size += len(chunk)
            if size < self._piece_bytes:
                continue
            is_long = size > LONG_FACTOR * self._piece_bytes
            cut = self.cuts.last(chunk, self.cuts.common if is_long else self.cuts.learned)
            if cut is not None:
                parts[-1] = chunk[: cut.end]
                yield _whole(parts)
                parts = [chunk[cut.start :]]
                size = len(parts[0])
            elif size > MAX_PIECE_BYTES:
                yield _whole(parts)
                parts = []
                size = 0
        rest = b"".join(parts)
        cut = self.cuts.last(rest, self.cuts.learned)
        if cut is not None:
            yield _whole([rest[: cut.end]])
            rest = rest[cut.start :]
        yield EventPiece(rest, is_last=True)

    def _gathered(self) -> Iterator[bytes]:
        """The chunks, small ones joined, so that a cut is searched in few of them."""
        least = min(SEARCH_BYTES, self._piece_bytes)
        parts: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= least:
                yield b"".join(parts) if len(parts) > 1 else chunk
                parts = []
                size = 0
        if parts:
            yield b"".join(parts)


def _whole(parts: list[bytes]) -> EventPiece:
    return EventPiece(b"".join((b"[", *parts, b"]")), is_last=False)
