"""The text of a journal → its blocks: what is damaged is counted and left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.trace.quality import QualityReport

Block = dict[str, Any]

MAX_LINE_BYTES = 32 << 20
"""A recorder writes a line a second and kind; what is longer is no line of its."""

BLOCK_START = b'{"kind":'
BLANK = b" \t\r\n\0"
"""A file that was open in a crash of the machine may hold NUL bytes."""

_DECODER = msgspec.json.Decoder(Block)


def blocks_of_text(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[Block]:
    """Every block of a journal, in order.

    Args:
        chunks: The text, UTF-8, in pieces of any size.
        quality: Told of lines that are damaged.
    """
    for line, is_ended in lines_of(chunks):
        text = line.strip(BLANK)
        if not text:
            quality.add("journal_line", int(b"\0" in line))
            continue
        block = block_of(text)
        if block is None:
            quality.add("journal_line" if is_ended else "truncated")
            block = _second_writer(text)
        elif b"\0" in line:
            quality.add("journal_line")
        if block is not None:
            yield block


def block_of(text: bytes) -> Block | None:
    """The JSON object that a text is; None when it is none."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _second_writer(text: bytes) -> Block | None:
    """The block at the end of a line that another process began and did not end."""
    start = text.rfind(BLOCK_START)
    return block_of(text[start:]) if start > 0 else None


def lines_of(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The lines without their ends, and whether each has one; of a line that is longer than
    :data:`MAX_LINE_BYTES` its beginning."""
    rest: list[bytes] = []
    size = 0
    for chunk in chunks:
        first, *more = chunk.split(b"\n")
        if size <= MAX_LINE_BYTES:
            rest.append(first)
            size += len(first)
        if more:
            yield b"".join(rest), True
            *whole, last = more
            yield from ((line, True) for line in whole)
            rest, size = [last], len(last)
    if size:
        yield b"".join(rest), False
