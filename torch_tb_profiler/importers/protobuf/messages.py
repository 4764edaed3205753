"""A stream of messages that all are one field of a file: where each lies."""

from __future__ import annotations

from torch_tb_profiler.importers.protobuf.varints import read_varint


def message_spans(data: bytes, tag: int) -> tuple[list[int], list[int], int]:
    """The delimited fields that ``data`` begins with, all of one tag of one byte.

    Returns:
        Their starts and ends, and the place of what is no such field or is cut: the length of
        ``data`` where all of it was read.
    """
    starts: list[int] = []
    ends: list[int] = []
    add_start, add_end = starts.append, ends.append
    at, size = 0, len(data)
    near_end = size - 2
    while at < size and data[at] == tag:
        # Two bytes of length are looked at here: a call would take most of the time.
        if at < near_end and (length := data[at + 1]) < 0x80:
            start = at + 2
        elif at < near_end and data[at + 2] < 0x80:
            length = (data[at + 2] << 7) | (data[at + 1] & 0x7F)
            start = at + 3
        else:
            length, start = read_varint(data, at + 1, size)
        behind = start + length
        if not start or behind > size:
            break
        add_start(start)
        add_end(behind)
        at = behind
    return starts, ends, at
