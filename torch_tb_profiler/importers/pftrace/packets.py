"""Splits a file into pieces of whole packets."""

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
"""A longer packet is treated as damage, so that memory stays bounded."""

MAX_TAG_AND_LENGTH = 12


class PacketPiece(NamedTuple):
    """Some packets.

    Attributes:
        data: Whole fields ``Trace.packet``.
        starts: Start of each packet, after tag and length.
        ends: End of each packet.
        is_truncated: Whether the file ends, or is damaged, within the next packet.
    """

    data: bytes
    starts: Int64
    ends: Int64
    is_truncated: bool = False


def pieces(chunks: Iterator[bytes], piece_bytes: int, name: str) -> Iterator[PacketPiece]:
    """Split a file between packets.

    Args:
        chunks: Its unpacked bytes.
        piece_bytes: Minimum size of a piece, except for the last one.
        name: The file's name in messages.

    Raises:
        TraceFormatError: the file does not begin with a complete packet.
    """
    parts: list[bytes] = []
    size = 0
    needed_bytes = piece_bytes
    is_first = True
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size < needed_bytes:
            continue
        data = b"".join(parts)
        piece, rest = _split(data)
        if piece.data:
            yield piece
            is_first = False
        if not _may_be_packet(rest):
            if is_first:
                raise no_packets(name)
            yield _split(b"")[0]._replace(is_truncated=True)
            return
        parts, size = [rest], len(rest)
        needed_bytes = max(piece_bytes, _packet_bytes(rest))
    data = b"".join(parts)
    piece, rest = _split(data)
    if is_first and not piece.data:
        raise no_packets(name)
    yield piece._replace(is_truncated=len(rest) > 0)


def _split(data: bytes) -> tuple[PacketPiece, bytes]:
    """The whole packets at the start of the data, and the rest."""
    starts, ends, end = message_spans(data, PACKET_TAG)
    return PacketPiece(data[:end], np.array(starts, np.int64), np.array(ends, np.int64)), data[end:]


def _packet_bytes(rest: bytes) -> int:
    """Size of the packet that these bytes begin; 0 if its length is incomplete."""
    length, start = read_varint(rest, 1, len(rest))
    return start + length if start else 0


def _may_be_packet(rest: bytes) -> bool:
    """Whether the bytes may be the beginning of a packet."""
    if rest[:1] not in (b"", bytes([PACKET_TAG])):
        return False
    return len(rest) < MAX_TAG_AND_LENGTH or 0 < _packet_bytes(rest) <= MAX_PACKET_BYTES


def no_packets(name: str) -> TraceFormatError:
    """The error for a file without a complete packet."""
    return TraceFormatError(
        "truncated",
        f"{name} ends within its first packet.",
        "The recording process was probably stopped while writing: export the trace again.",
    )
