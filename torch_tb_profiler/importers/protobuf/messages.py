"""Byte ranges of the messages of a file that is one repeated field."""

from __future__ import annotations

from torch_tb_profiler.importers.protobuf.varints import read_varint

_RUNS = (1 << 14, 1 << 10, 1 << 6, 1 << 2)
"""Numbers of messages that are compared at once."""


def message_spans(data: bytes, tag: int) -> tuple[list[int], list[int], int]:
    """The leading length-delimited fields of ``data`` with a given one-byte tag.

    Returns:
        Starts and ends of those that are not empty, and the offset of the first byte that is not
        part of such a field or belongs to a truncated one; the length of ``data`` if there is none.
    """
    starts: list[int] = []
    ends: list[int] = []
    add_start, add_end = starts.append, ends.append
    at, size = 0, len(data)
    near_end = size - 2
    while at < size and data[at] == tag:
        # Lengths of up to two bytes are decoded inline: a call would take most of the time.
        if at < near_end and (length := data[at + 1]) < 0x80:
            start = at + 2
        elif at < near_end and data[at + 2] < 0x80:
            length = (data[at + 2] << 7) | (data[at + 1] & 0x7F)
            start = at + 3
        else:
            length, start = read_varint(data, at + 1, size)
        end = start + length
        if not start or end > size:
            break
        if start == end:
            at = _after_empty(data, at, start)
            continue
        add_start(start)
        add_end(end)
        at = end
    return starts, ends, at


def _after_empty(data: bytes, at: int, end: int) -> int:
    """The offset after an empty message and others like it: a file of some kilobytes unpacks to
    millions of them."""
    message = data[at:end]
    for count in _RUNS:
        run = message * count
        while data.startswith(run, end):
            end += len(run)
    return end
