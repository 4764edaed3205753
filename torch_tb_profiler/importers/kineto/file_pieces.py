"""An uncompressed local file → pieces of its event array, as byte ranges.

A byte range is all that another process needs: it reads the bytes itself, and splitting the file
reads only a little text around each boundary.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

from torch_tb_profiler.importers.kineto.boundaries import OVERLAP_BYTES, EventBoundary
from torch_tb_profiler.importers.kineto.pieces import (
    LONG_FACTOR,
    MAX_PIECE_BYTES,
    PIECE_BYTES,
    EventPiece,
    EventPieces,
)

WINDOW_BYTES = 1 << 15
"""Text that is searched for a boundary at a time: one is seldom further away than one event."""

CHUNK_BYTES = 1 << 20
PLAIN_STARTS = (b"{", b"[")
BLANK = b" \t\r\n"


class FileVersion(NamedTuple):
    """Size, time and identity of a file."""

    size_bytes: int
    changed_ns: int
    inode: int
    device: int

    @classmethod
    def of_open_file(cls, file: io.FileIO) -> FileVersion:
        """The version of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)

    def is_same_file(self, other: FileVersion) -> bool:
        """Whether both are the same file, possibly modified in between."""
        return self[2:] == other[2:]


class FilePiece(NamedTuple):
    """The byte range of an :class:`~torch_tb_profiler.importers.kineto.pieces.EventPiece`.

    Attributes:
        path: The file.
        version: The version of the file when it was split.
        start: Offset of its first byte.
        end: Offset after its last byte.
        is_last: Whether the file ends with this piece.
    """

    path: str
    version: FileVersion
    start: int
    end: int
    is_last: bool

    def read(self) -> EventPiece:
        """Read the piece; it is shorter if the file was truncated.

        Raises:
            OSError: the file cannot be read, or (``ESTALE``) was replaced by another one.
        """
        with io.FileIO(self.path) as file:
            if not self.version.is_same_file(FileVersion.of_open_file(file)):
                raise OSError(errno.ESTALE, "the file was replaced", self.path)
            text = _bytes_at(file, self.start, self.end)
        return EventPiece(text if self.is_last else b"".join((b"[", text, b"]")), self.is_last)


class FilePieces:
    """Iterates over the pieces of the event array of a file.

    Attributes:
        header: The text before the events, ending with the opening bracket of the array.
        boundaries: Finds where events begin, learned from the head of the file.
    """

    def __init__(self, path: str, piece_bytes: int = PIECE_BYTES) -> None:
        """Read the header and the first events.

        Raises:
            OSError: the file cannot be read.
        """
        self._path = path
        self._chosen: Sequence[FilePiece] | None = None
        self._piece_bytes = piece_bytes
        with io.FileIO(path) as file:
            self._version = FileVersion.of_open_file(file)
            head = EventPieces(iter(lambda: file.read(CHUNK_BYTES), b""), piece_bytes)
        self._size = self._version.size_bytes
        self.header = head.header
        self.has_events = head.has_events
        self.boundaries = head.boundaries

    def only(self, chosen: Sequence[FilePiece]) -> FilePieces:
        """The same file with these of its pieces alone."""
        some = copy(self)
        some._chosen = chosen
        return some

    def __iter__(self) -> Iterator[FilePiece]:
        if self._chosen is not None:
            yield from self._chosen
            return
        start = len(self.header)
        with io.FileIO(self._path) as file:
            while (boundary := self._boundary_after(file, start + self._piece_bytes)) is not None:
                yield self._piece(start, boundary.end)
                start = boundary.start
            rest = _bytes_at(file, start, self._size)
        last = self.boundaries.last(rest, self.boundaries.learned)
        if last is not None:
            yield self._piece(start, start + last.end)
            start += last.start
        yield self._piece(start, self._size, is_last=True)

    def _piece(self, start: int, end: int, is_last: bool = False) -> FilePiece:
        return FilePiece(self._path, self._version, start, end, is_last)

    def _boundary_after(self, file: io.FileIO, position: int) -> EventBoundary | None:
        """The first boundary after ``position``; None if the rest of the file is one piece."""
        long_end = position + LONG_FACTOR * self._piece_bytes
        max_end = position + MAX_PIECE_BYTES
        while position < min(self._size, max_end):
            window = _bytes_at(file, position, position + WINDOW_BYTES + OVERLAP_BYTES)
            pattern = self.boundaries.learned if position < long_end else self.boundaries.common
            match = pattern.search(window)
            if match is not None:
                return EventBoundary(position + match.start() + 1, position + match.start(1))
            position += WINDOW_BYTES
        return None if position >= self._size else EventBoundary(position, position)


def is_plain_text(path: str) -> bool:
    """Whether a file is uncompressed UTF-8 JSON without byte order mark.

    Raises:
        OSError: the file cannot be read.
    """
    with io.FileIO(path) as file:
        return file.read(WINDOW_BYTES).lstrip(BLANK).startswith(PLAIN_STARTS)


def _bytes_at(file: io.FileIO, start: int, end: int) -> bytes:
    file.seek(start)
    parts: list[bytes] = []
    while start < end and (part := file.read(end - start)):
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
