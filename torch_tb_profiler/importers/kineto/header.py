"""The top-level keys of a file: what stands before and after its events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.kineto.header_types import typed_header
from torch_tb_profiler.importers.kineto.repair import (
    decode_text,
    fix_escapes,
    fix_quotes,
    fix_values,
    parse_lenient,
)
from torch_tb_profiler.trace.quality import QualityReport

BLANK = " \t\r\n\0"
QUOTED_LINE = re.compile(
    r'^([ \t]*"[^"\n]*"[ \t]*:[ \t]*")(.*)("(?:[ \t]*,)?[ \t\r]*)$', re.MULTILINE
)
MAX_REPAIR_CHARS = 4 << 20
"""Longer headers are read as they are or key by key: the repairs need many times their memory."""
MAX_FAILURES = 100
"""So many unreadable values are passed over; each may cost a look at the whole rest."""
KEY = re.compile(r'"([^"\\\n]+)"\s*:\s*')


def read_header(head: bytes, tail: bytes | None, quality: QualityReport) -> dict[str, Any]:
    """The top-level keys other than the events.

    Args:
        head: The text up to and with the opening bracket of the event array.
        tail: The text behind its closing bracket, maybe cut, maybe with a second document; None
            when the file ends before the bracket.
        quality: Is told of repairs, of wrong values, of a missing end and of trailing text.
    """
    before = decode_text(head, quality)
    after = "}" if tail is None else decode_text(tail, quality)
    if before.lstrip().startswith("["):
        quality.add("trailing_data", int(tail is not None and bool(after.strip(BLANK))))
        return {}
    header = _read(before, after, quality)
    if header is None:
        quality.add("truncated")
        header = _read(before, "}", quality)
        header = (_salvaged(before) if header is None else header) | _salvaged(after)
    return typed_header(header, quality)


def _read(before: str, after: str, quality: QualityReport) -> dict[str, Any] | None:
    """The header as a whole; None when no reading of it is valid."""
    for text, issues in _readings(f"{before}]{after}"):
        parsed = parse_lenient(text, len(text) - len(text.lstrip()))
        if parsed is None or not isinstance(parsed.value, dict):
            continue
        for issue in issues:
            quality.add(issue)
        quality.add("trailing_data", int(bool(text[parsed.end :].strip(BLANK))))
        quality.add("not_a_number", parsed.no_numbers)
        return parsed.value
    return None


def _readings(text: str) -> Iterator[tuple[str, list[str]]]:
    """The texts to try, best first, each with the issues it repairs."""
    yield text, []
    if len(text) > MAX_REPAIR_CHARS:
        return
    escaped, escapes = fix_escapes(text)
    if escapes:
        yield escaped, escapes
    filled, values = fix_values(escaped)
    if values:
        yield filled, [*escapes, *values]
    for quoted in (QUOTED_LINE.sub(_with_escaped_quotes, escaped), fix_quotes(escaped)):
        filled, values = fix_values(quoted)
        yield filled, [*escapes, "quote_repaired", *values]


def _with_escaped_quotes(line: re.Match[str]) -> str:
    return line[1] + re.sub(r'(?<!\\)"', r'\\"', line[2]) + line[3]


def _salvaged(text: str) -> dict[str, Any]:
    """Every key whose value parses by itself; for a header that is cut or beyond repair."""
    values: dict[str, Any] = {}
    position = 0
    failures = 0
    while (key := KEY.search(text, position)) is not None and failures < MAX_FAILURES:
        parsed = parse_lenient(text, key.end())
        if parsed is None:
            failures += 1
        else:
            values[key[1]] = parsed.value
        position = parsed.end if parsed is not None else key.end()
    return values
