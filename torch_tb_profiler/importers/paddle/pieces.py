"""The text of a ``.pb`` → pieces of many nodes of host threads, and what else it says.

``NodeTreesProto`` is the whole file; its trees of threads are its large part, and these are nothing
but nodes one after the other, each of which can be read for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from torch_tb_profiler.importers.protobuf.messages import message_spans
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, read_field
from torch_tb_profiler.trace.columns import Int64

PIECE_BYTES = 4 << 20
TREE_TAG = 3 << 3 | DELIMITED
NODE_TAG = 2 << 3 | DELIMITED
LONGEST_START = 20
"""Tag and length of a field, or a number with its tag, take no more bytes."""

MAX_OTHER_BYTES = 1 << 20
"""Of a field that is no tree. They are names of threads and properties of devices."""

MAX_OTHERS = 1 << 16
"""More of them are passed over."""


@dataclass(frozen=True, slots=True)
class NodePiece:
    """Some nodes of host threads.

    Attributes:
        data: Their bytes.
        starts: Where each begins.
        ends: Where each ends.
    """

    data: bytes
    starts: Int64
    ends: Int64


@dataclass(slots=True)
class _Gathered:
    """Nodes of several places, and of several trees, that become one piece."""

    parts: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, data: bytes, starts: list[int], ends: list[int]) -> None:
        self.parts.append(data)
        self.starts += [self.size + start for start in starts] if self.size else starts
        self.ends += [self.size + end for end in ends] if self.size else ends
        self.size += len(data)

    def take(self) -> Iterator[NodePiece]:
        """What was gathered, if anything was."""
        if self.parts:
            starts, ends = (np.array(places, np.int64) for places in (self.starts, self.ends))
            yield NodePiece(b"".join(self.parts), starts, ends)
        self.parts, self.starts, self.ends, self.size = [], [], [], 0


@dataclass(slots=True)
class TreeFile:
    """A file while it is read: iterate over its pieces once, then ask what else it says.

    Attributes:
        chunks: Its bytes, unpacked.
        fields: Its fields that are no trees, in the order of the file: number, and the bytes of it.
        is_cut: Whether it ends in the middle, or something in it is no field: what follows is lost.
    """

    chunks: Iterator[bytes]
    fields: list[tuple[int, bytes]] = field(default_factory=list)
    is_cut: bool = False
    _data: bytes = b""
    _at: int = 0
    _gathered: _Gathered = field(default_factory=_Gathered)

    def __iter__(self) -> Iterator[NodePiece]:
        while not self.is_cut and self._more(LONGEST_START):
            if self._data[self._at] == TREE_TAG:
                length, at = read_varint(self._data, self._at + 1, len(self._data))
                self.is_cut = not at
                if at:
                    self._at = at
                    yield from self._tree(length)
            else:
                self.is_cut = not self._other()
        yield from self._gathered.take()

    def _more(self, wanted: int) -> int:
        """Read until so many bytes are there, or the file ends; how many there are."""
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

    def _other(self) -> bool:
        """Take one field that is no tree; whether it is whole."""
        tag, at = read_varint(self._data, self._at, len(self._data))
        if at and tag & 7 == DELIMITED:
            length, behind = read_varint(self._data, at, len(self._data))
            if not behind or length > MAX_OTHER_BYTES:
                return False
            self._more(behind - self._at + length)
        found = read_field(self._data, self._at, len(self._data))
        if found is None:
            return False
        number, _, _, start, end = found
        if len(self.fields) < MAX_OTHERS:
            self.fields.append((number, self._data[start:end]))
        self._at = end
        return True

    def _tree(self, left: int) -> Iterator[NodePiece]:
        """The nodes of a tree that has so many bytes left."""
        wanted = PIECE_BYTES
        while left and not self.is_cut:
            there = min(self._more(min(left, wanted)), left)
            whole = self._data[self._at : self._at + there]
            starts, ends, at = message_spans(whole, NODE_TAG)
            if starts:
                self._gathered.add(whole[:at], starts, ends)
                if self._gathered.size >= PIECE_BYTES:
                    yield from self._gathered.take()
                wanted = PIECE_BYTES
            elif whole and whole[0] != NODE_TAG:
                found = read_field(whole, 0, there)  # the number of the thread
                at = 0 if found is None else found[-1]
            if not at:  # a node that is longer than what is there, or something that is no node
                self.is_cut = there == left or there < wanted
                wanted *= 2
            self._at += at
            left -= at
