"""The repair ladder: text of one damaged event → the event that its writer intended.

Each rung is tried only if the ones before do not parse (docs/inputs.md#damage): accept control
characters and NaN; take the backslashes of strings with bad escapes literally; null for missing
values; restore the name by the fields around it; treat a quote that cannot end its string as
literal. The name rung precedes the quote rung because names may look like JSON
(``{"device": "cpu"}``).
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from torch_tb_profiler.trace.quality import QualityReport

ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as decoded by ``surrogateescape``."""

ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<surrogate>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r'|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]'
    r"|(?P<lone>\\)"
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
BACKSLASHES = re.compile(r'\\(?P<next>["\\]?)')
RAW_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)"')
BEFORE_NEXT = r'(?=\s*(?:,\s*"[^"\\]*"\s*:|[}\]]))'
ENDS_WITH_BACKSLASH = re.compile(r'(?<=")[^"]*(?<!\\)(?:\\\\)*\\"' + BEFORE_NEXT)
"""A string whose last backslash escapes nothing: after its quote the object continues or ends."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*(?:"|\Z))'
    r"|(?P<empty>:\s*(?=[,}\]]))"
    r"|(?P<comma>,\s*(?=[}\]]))"
    r"|(?P<number>(?<=[:,\[\s])[-+]?(?:nan|inf(?:inity)?|n/?a)(?:\([^)\"]{0,80}\))?(?=\s*[,}\]]))",
    re.IGNORECASE | re.DOTALL,
)
NAME_START = re.compile(r'"name"\s*:\s*"')
NAME_END = re.compile(r'"\s*,\s*"pid"\s*:\s*(?:-?\d+|"[^"]*")\s*,\s*"tid"\s*:')
CLOSING_QUOTE = re.compile(
    r'"\s*(?:[}\]]|$|,\s*(?:["{\[}\]\-0-9]|[tfn]\w+\s*[,}\]]|$)|:\s*(?:["{\[\-0-9,}]|[tfni]\w+\s*[,}\]]|$))',
    re.IGNORECASE,
)
MAX_NAME_ENDS = 8
MAX_DIGITS = 4000
"""Python rejects longer integers."""

RepairedText = tuple[str, list[str]]
"""A repair to try, and the issues that it repairs."""


class ParsedValue(Struct):
    """A JSON value, parsed leniently.

    Attributes:
        value: The value; of duplicate keys the last one counts.
        end: Its end in the text.
        repeated: Keys that occur more than once in the outermost object.
        invalid_numbers: How many NaN, Infinity and overflowing numbers became null.
    """

    value: Any
    end: int
    repeated: frozenset[str]
    invalid_numbers: int


class _LenientDecoder(json.JSONDecoder):
    """The standard decoder, which accepts control characters and counts the numbers it drops."""

    def __init__(self) -> None:
        super().__init__(
            strict=False,
            object_pairs_hook=self._pairs,
            parse_constant=self._invalid_number,
            parse_float=self._float,
            parse_int=self._int,
        )
        self.repeated: frozenset[str] = frozenset()
        self.invalid_numbers = 0

    def _pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        self.repeated = frozenset()
        if len(result) != len(items):
            counts = Counter(key for key, _ in items)
            self.repeated = frozenset(key for key, count in counts.items() if count > 1)
        return result

    def _invalid_number(self, _: str) -> None:
        self.invalid_numbers += 1

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if abs(value) < float("inf"):
            return value
        self.invalid_numbers += 1
        return None

    def _int(self, digits: str) -> int | None:
        if len(digits) <= MAX_DIGITS:
            return int(digits)
        self.invalid_numbers += 1
        return None


_local = threading.local()


def parse_lenient(text: str, start: int = 0) -> ParsedValue | None:
    """The JSON value at ``start``; None if there is none or it is nested too deeply."""
    decoder: _LenientDecoder | None = getattr(_local, "decoder", None)
    if decoder is None:
        decoder = _local.decoder = _LenientDecoder()
    decoder.repeated = frozenset()
    decoder.invalid_numbers = 0
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return ParsedValue(value, end, decoder.repeated, decoder.invalid_numbers)


def decode_text(raw: bytes, quality: QualityReport) -> str:
    """Decode UTF-8; every invalid byte becomes U+FFFD."""
    text, bad_bytes = ESCAPED_BYTE.subn("\ufffd", raw.decode("utf-8", "surrogateescape"))
    quality.add("bad_encoding", int(bad_bytes > 0))
    return text


def fix_escapes(text: str) -> tuple[str, list[str]]:
    """Double backslashes that escape nothing, replace lone surrogates by U+FFFD; also the issues.

    A bad escape shows that no backslash of its string was escaped: in ``C:\\Users\\new`` the second
    one does not begin a line break either. Those before a quote stay, or the string would end.
    """
    if "\\" not in text:
        return text, []
    issues: set[str] = set()

    def fix_string(match: re.Match[str]) -> str:
        if not _has_bad_escape(match[0]):
            return match[0]
        issues.add("backslash_repaired")
        return BACKSLASHES.sub(lambda it: it[0] if it["next"] == '"' else it[0] * 2, match[0])

    def fix(match: re.Match[str]) -> str:
        if match["lone"]:
            issues.add("backslash_repaired")
            return "\\\\"
        if match["surrogate"]:
            issues.add("bad_encoding")
            return "\\ufffd"
        return match[0]

    return ESCAPE.sub(fix, STRING.sub(fix_string, text)), sorted(issues)


def _has_bad_escape(text: str) -> bool:
    return "\\" in text and any(match["lone"] for match in ESCAPE.finditer(text))


def fix_values(text: str) -> tuple[str, list[str]]:
    """Replace empty values, nan, inf and N/A by null, remove trailing commas; also the issues."""
    issues: list[str] = []

    def fix(match: re.Match[str]) -> str:
        if match["string"]:
            return match[0]
        if match["empty"]:
            issues.append("empty_value")
            return ": null"
        if match["number"]:
            issues.append("not_a_number")
            return "null"
        issues.append("trailing_comma")
        return ""

    return TOKEN.sub(fix, text), issues


def fix_quotes(text: str) -> str:
    """Escape quotes that cannot be the end of their string."""
    parts: list[str] = []
    position = 0
    while True:
        opening = text.find('"', position)
        if opening < 0:
            parts.append(text[position:])
            return "".join(parts)
        parts.append(text[position : opening + 1])
        position = opening + 1
        while True:
            quote = text.find('"', position)
            if quote < 0:
                parts.append(text[position:])
                return "".join(parts)
            parts.append(text[position:quote])
            position = quote + 1
            if _is_escaped(text, quote):
                parts.append('"')
            elif CLOSING_QUOTE.match(text, quote):
                parts.append('"')
                break
            else:
                parts.append('\\"')


def _is_escaped(text: str, position: int) -> bool:
    backslashes = 0
    while position > backslashes and text[position - 1 - backslashes] == "\\":
        backslashes += 1
    return backslashes % 2 == 1


def restore_names(text: str) -> Iterator[RepairedText]:
    """The event with its name extended to ``", "pid": …, "tid":``; the last such match first."""
    start = NAME_START.search(text)
    if start is None:
        return
    ends = [match.start() for match in NAME_END.finditer(text, start.end())]
    for end in reversed(ends[:MAX_NAME_ENDS]):
        name = text[start.end() : end]
        if "\n" not in name:
            escaped, issues = _escaped_name(name)
            yield text[: start.end()] + escaped + text[end:], issues


def _escaped_name(name: str) -> RepairedText:
    """A name with its quotes escaped, and its backslashes if they are evidently unescaped."""
    has_quotes = RAW_QUOTE.search(name) is not None
    issues = ["quote_repaired"] if has_quotes else []
    if "\\" in name and (has_quotes or _has_bad_escape(name) or _is_escaped(name, len(name))):
        name = name.replace("\\", "\\\\")
        issues.append("backslash_repaired")
    return RAW_QUOTE.sub(r'\1\\"', name), issues


def _whole(text: str) -> ParsedValue | None:
    parsed = parse_lenient(text)
    return parsed if parsed is not None and not text[parsed.end :].strip() else None


def _as_written(text: str) -> Iterator[RepairedText]:
    yield fix_escapes(text)


def _with_name(text: str) -> Iterator[RepairedText]:
    for named, issues in restore_names(text):
        fixed, more = fix_escapes(named)
        yield fixed, [*issues, *more]


def _with_literal_quotes(text: str) -> Iterator[RepairedText]:
    for fixed, issues in (*_as_written(text), *_with_name(text)):
        yield fix_quotes(fixed), [*issues, "quote_repaired"]
    literal, count = ENDS_WITH_BACKSLASH.subn(lambda it: it[0].replace("\\", "\\\\"), text)
    if count:
        fixed, issues = fix_escapes(literal)
        yield fixed, [*issues, "backslash_repaired"]


Rung = Callable[[str], Iterator[RepairedText]]
"""Text → repairs of one kind, best first."""

RUNGS: tuple[Rung, ...] = (_as_written, _with_name, _with_literal_quotes)
"""The rungs, safest first."""


def _repairs(text: str, rungs: Sequence[Rung]) -> Iterator[RepairedText]:
    """All repairs of some rungs, best first; issues are unique."""
    for rung in rungs:
        for repaired, issues in rung(text):
            yield repaired, sorted(set(issues))
            filled, more = fix_values(repaired)
            if more:
                yield filled, [*sorted(set(issues)), *more]


def repaired_event(
    text: str, quality: QualityReport, rungs: Sequence[Rung] = RUNGS
) -> dict[str, Any] | None:
    """The object that ``text`` was meant to be; None if no rung produces one.

    A valid event in which ``pid`` occurs twice is the result of a quote in its name; the name is
    restored, too.
    """
    for repaired, issues in _repairs(text, rungs):
        parsed = _whole(repaired)
        if parsed is None or not isinstance(parsed.value, dict):
            continue
        restored = _unambiguous(text) if "pid" in parsed.repeated else None
        if restored is not None:
            parsed = restored
            quality.add("ambiguous_name", 1, text)
        for issue in issues:
            quality.add(issue, 1, text)
        quality.add("not_a_number", parsed.invalid_numbers)
        quality.add("control_characters", int(CONTROL.search(text) is not None))
        value: dict[str, Any] = parsed.value
        return value
    return None


def _unambiguous(text: str) -> ParsedValue | None:
    for named, _ in _repairs(text, (_with_name,)):
        parsed = _whole(named)
        if parsed is not None and isinstance(parsed.value, dict) and not parsed.repeated:
            return parsed
    return None


def repaired_object(raw: bytes, quality: QualityReport) -> bytes:
    """A damaged ``args`` object as valid JSON; ``{}`` if it cannot be repaired or is not an
    object."""
    value = repaired_event(decode_text(raw, quality), quality)
    return encode(value) if value is not None else b"{}"


def encode(value: Any) -> bytes:
    """A value of :func:`parse_lenient` as strict JSON."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
