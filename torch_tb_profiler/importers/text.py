"""Unpacked bytes of a text file → UTF-8 without byte order mark."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from torch_tb_profiler.trace.quality import QualityReport

BLANK = b" \t\r\n"
UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def text_head(head: bytes) -> bytes:
    """The head of a file as UTF-8, without byte order mark and leading white space."""
    encoding = UTF16_MARKS.get(head[:2])
    if encoding is not None:
        return head[2:].decode(encoding, "replace").encode("utf-8", "replace").lstrip(BLANK)
    return head.removeprefix(codecs.BOM_UTF8).lstrip(BLANK)


def utf8(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[bytes]:
    """The text as UTF-8 without byte order mark; UTF-16 is converted and counted."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= len(codecs.BOM_UTF8):
            break
    encoding = UTF16_MARKS.get(head[:2])
    if encoding is not None:
        quality.add("utf16")
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        yield decoder.decode(head[2:]).encode("utf-8", "replace")
        for chunk in source:
            yield decoder.decode(chunk).encode("utf-8", "replace")
        return
    yield head.removeprefix(codecs.BOM_UTF8)
    yield from source
