"""Parses the text of a journal to blocks; damaged lines are counted and left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.trace.quality import QualityReport

Block = dict[str, Any]

BLOCK_START = b'{"kind":'
BLANK_BYTES = b" \t\r\n\0"
"""A file that was open when the machine crashed may contain NUL bytes."""

_BLANK_LINES = re.compile(rb"\n[ \t\r\n]*\n")

_DECODER = msgspec.json.Decoder(Block)


def parse_blocks(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[Block]:
    """Parse all blocks of a journal, in order.

    Args:
        chunks: The text, UTF-8, in pieces of any size.
        quality: Gets the number of damaged lines.
    """
    for line, is_ended in split_lines(chunks):
        text = line.strip(BLANK_BYTES)
        if not text:
            quality.add("journal_line", int(b"\0" in line))
            continue
        block = parse_block(text)
        if block is None:
            quality.add("journal_line" if is_ended else "truncated")
            block = _last_block(text)
        elif b"\0" in line:
            quality.add("journal_line")
        if block is not None:
            yield block


def parse_block(text: bytes) -> Block | None:
    """Parse a JSON object; None for any other text."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _last_block(text: bytes) -> Block | None:
    """The block at the end of a line whose beginning another process wrote but did not finish."""
    start = text.rfind(BLOCK_START)
    return parse_block(text[start:]) if start > 0 else None


def split_lines(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The lines without line ends, and whether each had one; lines longer than the limit
    ``line_bytes`` are cut: the recorder writes one per second and kind. Of blank lines, of which a
    file of some kilobytes unpacks to millions, a few remain. A line that long which goes on with
    NUL bytes is the last: a file with a hole is as long as its owner likes."""
    most = UNLIMITED.count("line_bytes")
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        first, *more = _BLANK_LINES.sub(b"\n", chunk).split(b"\n")
        if size <= most:
            parts.append(first)
            size += len(first)
        elif chunk and not more and chunk == bytes(len(chunk)):
            break
        if more:
            yield b"".join(parts), True
            *whole, last = more
            yield from ((line, True) for line in whole)
            parts, size = [last], len(last)
    if size:
        yield b"".join(parts), False
