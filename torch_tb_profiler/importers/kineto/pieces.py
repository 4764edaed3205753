"""The bytes of a file → the header, pieces of the event array, and what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.cuts import Cuts

PIECE_BYTES = 8 << 20
MAX_HEADER_BYTES = 256 << 20
MAX_TAIL_BYTES = 16 << 20

EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
KEY_OVERLAP = 64
"""A match that begins before the last chunk's end is not missed within this many bytes."""


class Pieces:
    """Iterates over pieces of the event array, each beginning at an event.

    Attributes:
        header: The text before the events, ending with the opening bracket of the array.
        cuts: Where events begin.
        rest: Bytes of the pieces that were not taken any more, up to a limit.
    """

    def __init__(self, chunks: Iterator[bytes], name: str, piece_bytes: int = PIECE_BYTES) -> None:
        """Read up to the first event.

        Raises:
            TraceFormatError: there is no event array.
        """
        self._chunks = chunks
        self._piece_bytes = piece_bytes
        self._name = name
        self.header, self._buffer = self._split_header()
        while len(self._buffer) < 4096 and (chunk := next(chunks, b"")):
            self._buffer += chunk
        self.cuts = Cuts(bytes(self._buffer[:4096]))

    def _split_header(self) -> tuple[bytes, bytearray]:
        buffer = bytearray()
        searched = 0
        for chunk in self._chunks:
            buffer += chunk
            start = buffer.lstrip()[:1]
            if start == b"[":
                at = buffer.index(b"[") + 1
                return bytes(buffer[:at]), buffer[at:]
            found = EVENTS_KEY.search(buffer, searched)
            if found:
                return bytes(buffer[: found.end()]), buffer[found.end() :]
            searched = max(0, len(buffer) - KEY_OVERLAP)
            if len(buffer) > MAX_HEADER_BYTES:
                break
        return bytes(buffer), bytearray()

    @property
    def has_events_key(self) -> bool:
        """Whether the header ends at an event array."""
        return self.header.endswith(b"[")

    def __iter__(self) -> Iterator[bytes]:
        buffer = self._buffer
        searched = 0
        for chunk in self._chunks:
            buffer += chunk
            if len(buffer) - searched < self._piece_bytes:
                continue
            cut = self.cuts.last_before(buffer, searched)
            if cut < 0:
                searched = len(buffer)
                continue
            piece = bytes(buffer[:cut])
            del buffer[:cut]
            searched = 0
            yield piece.rstrip(b" \t\r\n,")
        cut = self.cuts.last_before(buffer, 0)
        if cut > 0:
            yield bytes(buffer[:cut]).rstrip(b" \t\r\n,")
            del buffer[:cut]
        yield bytes(buffer)


def no_events(name: str, header: bytes) -> TraceFormatError:
    """The error for a file without event array."""
    return TraceFormatError(
        "no_events" if header else "empty_file",
        f"{name} holds no trace events.",
        "Was the profiler stopped and the trace exported completely?",
    )
