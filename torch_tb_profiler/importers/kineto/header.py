"""The header of a file: its top-level keys before and after the events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.kineto.header_types import typed_header
from torch_tb_profiler.importers.kineto.repair import (
    ParsedValue,
    decode_text,
    fix_escapes,
    fix_quotes,
    fix_values,
    parse_lenient,
)
from torch_tb_profiler.trace.quality import QualityReport

BLANK = " \t\r\n\0"
EVENTS_KEY_TEXT = '"traceEvents"'
QUOTED_LINE = re.compile(
    r'^([ \t]*"[^"\n]*"[ \t]*:[ \t]*")(.*)("(?:[ \t]*,)?[ \t\r]*)$', re.MULTILINE
)
MAX_REPAIR_CHARS = 4 << 20
"""Longer headers are read unrepaired or key by key: repairs need many times their memory."""
MAX_FAILURES = 100
"""Unreadable values to skip before giving up; each may cost a scan of the whole rest."""
KEY = re.compile(r'"([^"\\\n]+)"\s*:\s*')


class HeaderTail(Struct):
    """What follows the events.

    Attributes:
        text: The text after the closing bracket of the last event array, which may be truncated or
            hold another recording; None if the file ends before the bracket.
        between: What stands between the arrays of several objects, as if these had no events.
        joined: How many objects follow the first.
    """

    text: bytes | None = None
    between: bytes = b""
    joined: int = 0

    def join(self, between: bytes, joined: int) -> None:
        """Add further objects; of more text than any metadata has the rest is left out."""
        if joined and len(self.between) < MAX_REPAIR_CHARS:
            self.between += between
            self.joined += joined


def read_header(head: bytes, tail: HeaderTail, quality: QualityReport) -> dict[str, Any]:
    """The top-level keys except the events, validated; arguments as :func:`header_values`."""
    return typed_header(header_values(head, tail, quality), quality)


def header_values(head: bytes, tail: HeaderTail, quality: QualityReport) -> dict[str, Any]:
    """The top-level keys except the events, as they are written, known or not; of several objects
    the first with a key counts.

    Args:
        head: The text up to and including the opening bracket of the event array.
        tail: What follows the events.
        quality: Counts repairs, wrong values, a missing end and trailing text.
    """
    before = decode_text(head, quality).lstrip()
    after = "}" if tail.text is None else decode_text(tail.between + tail.text, quality)
    is_list = before.startswith("[") and EVENTS_KEY_TEXT in before
    if before.startswith("[") and not is_list:
        quality.add("trailing_data", int(tail.text is not None and bool(after.strip(BLANK))))
        return {}
    if is_list:
        before, after = before[1:].lstrip(), after.rstrip(BLANK).removesuffix("]")
    joined = 0 if tail.text is None else tail.joined
    header = _read(before, after, quality, joined)
    if header is None:
        quality.add("truncated")
        header = _read(before, "}", quality)
        header = (_readable_keys(before) if header is None else header) | _readable_keys(after)
    return header


def _read(
    before: str, after: str, quality: QualityReport, joined: int = 0
) -> dict[str, Any] | None:
    """The header as a whole; None if neither its text nor a repair of it is valid."""
    for text, issues in _repairs(f"{before}]{after}"):
        parsed = parse_lenient(text, len(text) - len(text.lstrip()))
        if parsed is None or not isinstance(parsed.value, dict):
            continue
        for issue in issues:
            quality.add(issue)
        values, end = _join_objects(text, parsed, joined)
        quality.add("trailing_data", int(bool(text[end:].strip(BLANK))))
        quality.add("not_a_number", parsed.invalid_numbers)
        return values
    return None


def _join_objects(text: str, first: ParsedValue, joined: int) -> tuple[dict[str, Any], int]:
    """The keys of the first object and of so many further ones, and where the last ends."""
    values, end = first.value, first.end
    for _ in range(joined):
        rest = len(text[end:]) - len(text[end:].lstrip(f"{BLANK},"))
        parsed = parse_lenient(text, end + rest)
        if parsed is None or not isinstance(parsed.value, dict):
            break
        values, end = parsed.value | values, parsed.end
    return values, end


def _repairs(text: str) -> Iterator[tuple[str, list[str]]]:
    """The text and repairs of it, best first, each with the issues that it repairs."""
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


def _readable_keys(text: str) -> dict[str, Any]:
    """All keys with a valid value, for a header that is truncated or cannot be repaired."""
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
