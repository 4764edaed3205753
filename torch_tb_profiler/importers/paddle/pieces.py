"""Splits a ``.pb`` file into pieces of many nodes of host threads, and its other fields.

The file is one ``NodeTreesProto``. Its trees of threads are the large part; they consist of
consecutive nodes that can be read independently.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.protobuf.messages import message_spans
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, read_field
from torch_tb_profiler.trace.columns import Int64

PIECE_BYTES = 4 << 20
TREE_TAG = 3 << 3 | DELIMITED
NODE_TAG = 2 << 3 | DELIMITED
MAX_START_BYTES = 20
"""Most bytes of the tag and length of a field, or of a tag and a number."""

MAX_OTHER_BYTES = 1 << 20
"""Largest other field: names of threads and properties of devices are small."""

MAX_OTHER_FIELDS = 1 << 16
"""Most other fields that are read; further ones are skipped."""


class NodePiece(Struct, frozen=True):
    """Some nodes of host threads.

    Attributes:
        data: Their bytes.
        starts: Offsets at which they begin.
        ends: Offsets at which they end.
    """

    data: bytes
    starts: Int64
    ends: Int64


class _PieceBuffer(Struct):
    """Collects nodes of several parts and trees for one piece."""

    parts: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, data: bytes, starts: list[int], ends: list[int]) -> None:
        self.parts.append(data)
        self.starts += [self.size + start for start in starts] if self.size else starts
        self.ends += [self.size + end for end in ends] if self.size else ends
        self.size += len(data)

    def flush(self) -> Iterator[NodePiece]:
        """The piece of the collected nodes, if there are any; empties the buffer."""
        if self.parts:
            starts, ends = (np.array(offsets, np.int64) for offsets in (self.starts, self.ends))
            yield NodePiece(b"".join(self.parts), starts, ends)
        self.parts, self.starts, self.ends, self.size = [], [], [], 0


class TreeFile(Struct):
    """A file that is being read: iterate over its pieces once, then use the other attributes.

    Attributes:
        chunks: Its bytes, unpacked.
        fields: Its other fields, in file order: number and bytes of each.
        is_truncated: Whether it is truncated or has an invalid field; the rest of it is lost.
    """

    chunks: Iterator[bytes]
    fields: list[tuple[int, bytes]] = field(default_factory=list)
    is_truncated: bool = False
    _data: bytes = b""
    _at: int = 0
    _buffer: _PieceBuffer = field(default_factory=_PieceBuffer)

    def __iter__(self) -> Iterator[NodePiece]:
        while not self.is_truncated and self._fill(MAX_START_BYTES):
            if self._data[self._at] == TREE_TAG:
                length, at = read_varint(self._data, self._at + 1, len(self._data))
                self.is_truncated = not at
                if at:
                    self._at = at
                    yield from self._read_tree(length)
            else:
                self.is_truncated = not self._read_other_field()
        yield from self._buffer.flush()

    def _fill(self, wanted: int) -> int:
        """Read until ``wanted`` bytes are available or the file ends; returns the available
        bytes."""
        left = len(self._data) - self._at
        if left < wanted:
            parts = [self._data[self._at :]]
            for chunk in self.chunks:
                parts.append(chunk)
                left += len(chunk)
                if left >= wanted:
                    break
            self._data, self._at = b"".join(parts), 0
        return left

    def _read_other_field(self) -> bool:
        """Read one other field; returns whether it is complete."""
        tag, at = read_varint(self._data, self._at, len(self._data))
        if at and tag & 7 == DELIMITED:
            length, start = read_varint(self._data, at, len(self._data))
            if not start or length > MAX_OTHER_BYTES:
                return False
            self._fill(start - self._at + length)
        parsed = read_field(self._data, self._at, len(self._data))
        if parsed is None:
            return False
        number, _, _, start, end = parsed
        if len(self.fields) < MAX_OTHER_FIELDS:
            self.fields.append((number, self._data[start:end]))
        self._at = end
        return True

    def _read_tree(self, left: int) -> Iterator[NodePiece]:
        """Read the nodes of a tree with ``left`` remaining bytes."""
        wanted = PIECE_BYTES
        while left and not self.is_truncated:
            available = min(self._fill(min(left, wanted)), left)
            data = self._data[self._at : self._at + available]
            starts, ends, at = message_spans(data, NODE_TAG)
            if starts:
                self._buffer.add(data[:at], starts, ends)
                if self._buffer.size >= PIECE_BYTES:
                    yield from self._buffer.flush()
                wanted = PIECE_BYTES
            elif data and data[0] != NODE_TAG:
                parsed = read_field(data, 0, available)  # the number of the thread
                at = 0 if parsed is None else parsed[-1]
            if not at:  # an incomplete node, or not a node
                self.is_truncated = available == left or available < wanted
                wanted *= 2
            self._at += at
            left -= at
