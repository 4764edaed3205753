"""The repair ladder: text of one damaged event → the event its writer meant.

Rungs, each tried only when the ones before do not parse (docs/inputs.md#damage): accept control
characters and NaN; take the backslashes of strings with bad escapes literally; null for missing
values; restore the name by the fields around it; treat a quote that cannot end its string as
literal. The name rung stands before the quote rung because names may look like JSON
(``{"device": "cpu"}``).
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch_tb_profiler.trace.quality import QualityReport

ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` makes of a byte that is not UTF-8."""

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
"""A string whose last backslash escapes nothing: behind its quote the object goes on or ends."""
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
"""Python refuses longer integers."""

Reading = tuple[str, list[str]]
"""A text to try, and the issues that it repairs."""


@dataclass(slots=True)
class Parsed:
    """One JSON value read leniently.

    Attributes:
        value: The value; duplicate keys: the last one counts.
        end: Where it ends in the text.
        repeated: Keys that occur more than once in the outermost object.
        no_numbers: How many NaN, Infinity and overflowing numbers became null.
    """

    value: Any
    end: int
    repeated: frozenset[str]
    no_numbers: int


class _LenientDecoder(json.JSONDecoder):
    """The standard decoder, told to accept control characters and to count what it gives up."""

    def __init__(self) -> None:
        super().__init__(
            strict=False,
            object_pairs_hook=self._pairs,
            parse_constant=self._no_number,
            parse_float=self._float,
            parse_int=self._int,
        )
        self.repeated: frozenset[str] = frozenset()
        self.no_numbers = 0

    def _pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        self.repeated = frozenset()
        if len(result) != len(items):
            counts = Counter(key for key, _ in items)
            self.repeated = frozenset(key for key, count in counts.items() if count > 1)
        return result

    def _no_number(self, _: str) -> None:
        self.no_numbers += 1

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if abs(value) < float("inf"):
            return value
        self.no_numbers += 1
        return None

    def _int(self, digits: str) -> int | None:
        if len(digits) <= MAX_DIGITS:
            return int(digits)
        self.no_numbers += 1
        return None


_local = threading.local()


def parse_lenient(text: str, start: int = 0) -> Parsed | None:
    """The JSON value at ``start``; None when there is none, or it nests too deep to read."""
    decoder: _LenientDecoder | None = getattr(_local, "decoder", None)
    if decoder is None:
        decoder = _local.decoder = _LenientDecoder()
    decoder.repeated = frozenset()
    decoder.no_numbers = 0
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Parsed(value, end, decoder.repeated, decoder.no_numbers)


def decode_text(raw: bytes, quality: QualityReport) -> str:
    """Bytes as text of the same number of characters as valid ones; bad bytes become U+FFFD."""
    text, bad_bytes = ESCAPED_BYTE.subn("\ufffd", raw.decode("utf-8", "surrogateescape"))
    quality.add("bad_encoding", int(bad_bytes > 0))
    return text


def fix_escapes(text: str) -> tuple[str, list[str]]:
    """Backslashes doubled where they escape nothing, lone surrogates as U+FFFD; and what was done.

    A bad escape shows that no backslash of its string was escaped: in ``C:\\Users\\new`` the second
    one begins no new line, either. Those before a quote are left, or else the string would end.
    """
    if "\\" not in text:
        return text, []
    done: set[str] = set()

    def fix_string(match: re.Match[str]) -> str:
        if not _has_bad_escape(match[0]):
            return match[0]
        done.add("backslash_repaired")
        return BACKSLASHES.sub(lambda it: it[0] if it["next"] == '"' else it[0] * 2, match[0])

    def fix(match: re.Match[str]) -> str:
        if match["lone"]:
            done.add("backslash_repaired")
            return "\\\\"
        if match["surrogate"]:
            done.add("bad_encoding")
            return "\\ufffd"
        return match[0]

    return ESCAPE.sub(fix, STRING.sub(fix_string, text)), sorted(done)


def _has_bad_escape(text: str) -> bool:
    return "\\" in text and any(match["lone"] for match in ESCAPE.finditer(text))


def fix_values(text: str) -> tuple[str, list[str]]:
    """Null for empty values, nan, inf and N/A; commas before a closing bracket removed."""
    done: list[str] = []

    def fix(match: re.Match[str]) -> str:
        if match["string"]:
            return match[0]
        if match["empty"]:
            done.append("empty_value")
            return ": null"
        if match["number"]:
            done.append("not_a_number")
            return "null"
        done.append("trailing_comma")
        return ""

    return TOKEN.sub(fix, text), done


def fix_quotes(text: str) -> str:
    """Escape the quotes inside strings that cannot be the end of their string."""
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


def names_restored(text: str) -> Iterator[Reading]:
    """The event with its name taken up to ``", "pid": …, "tid":``; the latest such place first."""
    start = NAME_START.search(text)
    if start is None:
        return
    ends = [match.start() for match in NAME_END.finditer(text, start.end())]
    for end in reversed(ends[:MAX_NAME_ENDS]):
        name = text[start.end() : end]
        if "\n" not in name:
            escaped, done = _escaped_name(name)
            yield text[: start.end()] + escaped + text[end:], done


def _escaped_name(name: str) -> Reading:
    """A name with its quotes escaped, and its backslashes if it shows that they are not."""
    has_quotes = RAW_QUOTE.search(name) is not None
    done = ["quote_repaired"] if has_quotes else []
    if "\\" in name and (has_quotes or _has_bad_escape(name) or _is_escaped(name, len(name))):
        name = name.replace("\\", "\\\\")
        done.append("backslash_repaired")
    return RAW_QUOTE.sub(r'\1\\"', name), done


def _whole(text: str) -> Parsed | None:
    parsed = parse_lenient(text)
    return parsed if parsed is not None and not text[parsed.end :].strip() else None


def _as_written(text: str) -> Iterator[Reading]:
    yield fix_escapes(text)


def _with_name(text: str) -> Iterator[Reading]:
    for named, done in names_restored(text):
        fixed, more = fix_escapes(named)
        yield fixed, [*done, *more]


def _with_literal_quotes(text: str) -> Iterator[Reading]:
    for fixed, done in (*_as_written(text), *_with_name(text)):
        yield fix_quotes(fixed), [*done, "quote_repaired"]
    literal, count = ENDS_WITH_BACKSLASH.subn(lambda it: it[0].replace("\\", "\\\\"), text)
    if count:
        fixed, done = fix_escapes(literal)
        yield fixed, [*done, "backslash_repaired"]


Rung = Callable[[str], Iterator[Reading]]
"""Gives the readings of a text, best first."""

RUNGS: tuple[Rung, ...] = (_as_written, _with_name, _with_literal_quotes)
"""From the surest to the boldest."""


def _readings(text: str, rungs: Sequence[Rung]) -> Iterator[Reading]:
    """The texts to try, best first; every issue stands once."""
    for rung in rungs:
        for reading, done in rung(text):
            yield reading, sorted(set(done))
            filled, more = fix_values(reading)
            if more:
                yield filled, [*sorted(set(done)), *more]


def repaired_event(
    text: str, quality: QualityReport, rungs: Sequence[Rung] = RUNGS
) -> dict[str, Any] | None:
    """The object that ``text`` was meant to be; None when no rung gives one.

    A valid event in which ``pid`` occurs twice comes from a quote in a name that happens to make
    valid JSON; its name is restored too.
    """
    for reading, issues in _readings(text, rungs):
        parsed = _whole(reading)
        if parsed is None or not isinstance(parsed.value, dict):
            continue
        restored = _unambiguous(text) if "pid" in parsed.repeated else None
        if restored is not None:
            parsed = restored
            quality.add("ambiguous_name", 1, text)
        for issue in issues:
            quality.add(issue, 1, text)
        quality.add("not_a_number", parsed.no_numbers)
        quality.add("control_characters", int(CONTROL.search(text) is not None))
        value: dict[str, Any] = parsed.value
        return value
    return None


def _unambiguous(text: str) -> Parsed | None:
    for named, _ in _readings(text, (_with_name,)):
        parsed = _whole(named)
        if parsed is not None and isinstance(parsed.value, dict) and not parsed.repeated:
            return parsed
    return None


def repaired_object(raw: bytes, quality: QualityReport) -> bytes:
    """A damaged ``args`` object as valid JSON; ``{}`` when it cannot be repaired or is none."""
    value = repaired_event(decode_text(raw, quality), quality)
    return encode(value) if value is not None else b"{}"


def encode(value: Any) -> bytes:
    """A value of :func:`parse_lenient` as JSON that a strict decoder takes."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
