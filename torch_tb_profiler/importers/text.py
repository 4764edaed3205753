"""Unpacked bytes of a text file → UTF-8 without byte order mark."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from torch_tb_profiler.trace.quality import QualityReport

BLANK = b" \t\r\n"
UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


JSON_STARTS = b"{[" + BLANK


def text_head(head: bytes) -> bytes:
    """The head of a file as UTF-8, without byte order mark and leading white space."""
    encoding, mark = _utf16(head)
    if encoding is not None:
        return head[mark:].decode(encoding, "replace").encode("utf-8", "replace").lstrip(BLANK)
    return head.removeprefix(codecs.BOM_UTF8).lstrip(BLANK)


def utf8(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[bytes]:
    """The text as UTF-8 without byte order mark; UTF-16 is converted and counted."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= 4:
            break
    encoding, mark = _utf16(head)
    if encoding is not None:
        quality.add("utf16")
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        yield decoder.decode(head[mark:]).encode("utf-8", "replace")
        for chunk in source:
            yield decoder.decode(chunk).encode("utf-8", "replace")
        return
    yield head.removeprefix(codecs.BOM_UTF8)
    yield from source


def _utf16(head: bytes) -> tuple[str | None, int]:
    """The encoding of UTF-16 and the length of its mark: JSON begins with two ASCII characters, so
    that it is recognized without one, too. (None, 0) for anything else."""
    encoding = UTF16_MARKS.get(head[:2])
    if encoding is not None:
        return encoding, 2
    if len(head) >= 4 and head[0] in JSON_STARTS and head[2] and not head[1] and not head[3]:
        return "utf-16-le", 0
    if len(head) >= 4 and head[1] in JSON_STARTS and head[3] and not head[0] and not head[2]:
        return "utf-16-be", 0
    return None, 0
