"""The bytes of a file → pieces of whole packets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.pftrace.fields import PACKET_TAG
from torch_tb_profiler.importers.protobuf.messages import message_spans
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.trace.columns import Int64

PIECE_BYTES = 4 << 20
MAX_PACKET_BYTES = 1 << 28
"""A packet longer than this is damage, so that memory stays bounded."""

MAX_TAG_AND_LENGTH = 12


class PacketPiece(NamedTuple):
    """Some packets.

    Attributes:
        data: Whole fields ``Trace.packet``.
        starts: Where each packet begins, behind tag and length.
        ends: Where each ends.
        is_cut: Whether the file ends, or is damaged, in the middle of the packet that follows.
    """

    data: bytes
    starts: Int64
    ends: Int64
    is_cut: bool = False


def pieces(chunks: Iterator[bytes], piece_bytes: int, name: str) -> Iterator[PacketPiece]:
    """Cut a file between its packets.

    Args:
        chunks: Its bytes, unpacked.
        piece_bytes: How long a piece is at least, but for the last one.
        name: Of the file, for messages.

    Raises:
        TraceFormatError: it does not begin with a packet.
    """
    parts: list[bytes] = []
    size = 0
    wanted = piece_bytes
    is_first = True
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size < wanted:
            continue
        data = b"".join(parts)
        piece, rest = _split(data)
        if piece.data:
            yield piece
            is_first = False
        if not _may_go_on(rest):
            if is_first:
                raise no_packets(name)
            yield _split(b"")[0]._replace(is_cut=True)
            return
        parts, size = [rest], len(rest)
        wanted = max(piece_bytes, _packet_bytes(rest))
    data = b"".join(parts)
    piece, rest = _split(data)
    if is_first and not piece.data:
        raise no_packets(name)
    yield piece._replace(is_cut=len(rest) > 0)


def _split(data: bytes) -> tuple[PacketPiece, bytes]:
    """The whole packets that the data begins with, and the rest."""
    starts, ends, end = message_spans(data, PACKET_TAG)
    return PacketPiece(data[:end], np.array(starts, np.int64), np.array(ends, np.int64)), data[end:]


def _packet_bytes(rest: bytes) -> int:
    """How long the packet is that these bytes begin; 0 while nothing says so."""
    length, start = read_varint(rest, 1, len(rest))
    return start + length if start else 0


def _may_go_on(rest: bytes) -> bool:
    """Whether the bytes are the beginning of a packet."""
    if rest[:1] not in (b"", bytes([PACKET_TAG])):
        return False
    return len(rest) < MAX_TAG_AND_LENGTH or 0 < _packet_bytes(rest) <= MAX_PACKET_BYTES


def no_packets(name: str) -> TraceFormatError:
    """The error for a file that does not even hold one packet."""
    return TraceFormatError(
        "truncated",
        f"{name} ends before its first packet does.",
        "The recording process was probably stopped while writing: export the trace again.",
    )
