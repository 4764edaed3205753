"""The top-level keys of a file: what stands before and after its events."""

from __future__ import annotations

import re
from typing import Any

from torch_tb_profiler.importers.kineto.repair import (
    decode_text,
    fix_escapes,
    fix_quotes,
    fix_values,
    parse_lenient,
)
from torch_tb_profiler.trace.quality import QualityReport

EVENTS = "traceEvents"
QUOTED_LINE = re.compile(r'^(\s*"[^"\n]*"\s*:\s*")(.*)("\s*,?\s*)$', re.MULTILINE)
KEY = re.compile(r'"([^"\\\n]+)"\s*:\s*')


def read_header(head: bytes, tail: bytes, quality: QualityReport) -> dict[str, Any]:
    """The top-level keys other than the events.

    Args:
        head: The text up to and with the opening bracket of the event array.
        tail: The text behind its closing bracket, maybe cut, maybe with a second document.
        quality: Is told of repairs, of a missing end and of trailing text.
    """
    before, after = decode_text(head, quality), decode_text(tail, quality)
    if before.lstrip().startswith("["):
        quality.add("trailing_data", int(bool(after.strip(" \t\r\n\0"))))
        return {}
    for text, issue in _readings(before, after):
        parsed = parse_lenient(text, len(text) - len(text.lstrip()))
        if parsed is None or not isinstance(parsed.value, dict):
            continue
        if issue is not None:
            quality.add(issue)
        quality.add("trailing_data", int(bool(text[parsed.end :].strip(" \t\r\n\0"))))
        return {key: value for key, value in parsed.value.items() if key != EVENTS}
    quality.add("truncated", int(bool(tail)))
    return _salvaged(before) | _salvaged(after)


def _readings(before: str, after: str) -> list[tuple[str, str | None]]:
    """The texts to try, best first, each with the issue it repairs."""
    whole = f"{before}]{after}"
    escaped = fix_escapes(whole)[0]
    lines = QUOTED_LINE.sub(_with_escaped_quotes, escaped)
    return [
        (whole, None),
        (escaped, "backslash_repaired"),
        (fix_values(escaped)[0], "empty_value"),
        (fix_values(lines)[0], "quote_repaired"),
        (fix_values(fix_quotes(escaped))[0], "quote_repaired"),
    ]


def _with_escaped_quotes(line: re.Match[str]) -> str:
    return line[1] + re.sub(r'(?<!\\)"', r'\\"', line[2]) + line[3]


def _salvaged(text: str) -> dict[str, Any]:
    """Every key whose value parses by itself; for a header that is cut or beyond repair."""
    found: dict[str, Any] = {}
    position = 0
    while (key := KEY.search(text, position)) is not None:
        parsed = parse_lenient(text, key.end())
        if parsed is not None and key[1] != EVENTS:
            found[key[1]] = parsed.value
        position = parsed.end if parsed is not None else key.end()
    return found
