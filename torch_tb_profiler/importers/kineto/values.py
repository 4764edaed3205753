"""Decoded JSON values → columns.

The common case (all integers, all text) is one numpy call; anything else is converted value by
value, so that a number written as text, in hexadecimal or as ``N/A`` costs time but not the event.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.kineto.structs import ABSENT_RAW
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int8, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

MAX_TEXT_CHARS = UNLIMITED.count("text_chars")
"""Longer texts are truncated: a call stack of two thousand frames is shorter."""

SHORT_BYTES = 512
"""Lists up to this size are cached with their text."""

PREVIEW_CHARS = 80
"""Longer values are truncated in examples."""

INT64_MAX = 2**63 - 1
NOT_A_NUMBER_TEXTS = (
    "",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "infinity",
    "-infinity",
    "n/a",
    "na",
    "none",
)


class Interner(dict[Any, int]):
    """Assigns each distinct key the next code: ``codes = [interner[key] for key in keys]``."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code


def _as_int(value: Any) -> int:
    """An integer as int64; larger addresses become their two's complement."""
    if isinstance(value, bool):
        return ABSENT
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return _as_int(_as_float(value))
    if isinstance(value, float):
        if not value.is_integer():
            return ABSENT
        value = int(value)
    if isinstance(value, int) and -INT64_MAX <= value < 2**64:
        return value - 2**64 if value > INT64_MAX else int(value)
    return ABSENT


def _as_float(value: Any) -> float:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return float("nan")
        return number if abs(number) != float("inf") else float("nan")
    return float("nan")


def is_not_a_number(value: Any) -> bool:
    """Whether a value is a text that means "not a number": ``"N/A"``, ``"nan"``, ``""``."""
    return isinstance(value, str) and value.strip().lower() in NOT_A_NUMBER_TEXTS


def _is_absent(values: list[Any], default: Any) -> bool:
    """Whether all values are the default of their field; comparing identities is fast."""
    return bool(values) and values[0] is default and values.count(default) == len(values)


def int_column(
    values: list[Any], quality: QualityReport, key: str = "", maximum: int = INT64_MAX
) -> Int64:
    """Convert to an int64 column; None and values that are not integers become ABSENT.

    Args:
        values: The decoded values.
        quality: Counts values that are not numbers or implausible.
        key: The argument, for examples.
        maximum: The largest plausible absolute value.
    """
    if _is_absent(values, ABSENT):
        return np.full(len(values), ABSENT, np.int64)
    column = _plain_ints(values)
    if column is not None:
        return checked_ints(column, {}, quality, key, maximum)
    return checked_ints(
        np.empty(len(values), np.int64), dict(enumerate(values)), quality, key, maximum
    )


def checked_ints(
    column: Int64, odd: Mapping[int, Any], quality: QualityReport, key: str, maximum: int
) -> Int64:
    """Complete a column of plain integers, in place.

    Args:
        column: The integers.
        odd: Row → value of those that need a conversion, in the order of rows.
        quality: As for :func:`int_column`, like all that follow.
        key: The argument.
        maximum: The largest plausible absolute value.
    """
    if odd:
        rows = list(odd)
        column[rows] = [_as_int(value) for value in odd.values()]
        _count_wrong((odd[row] for row in rows if column[row] == ABSENT), key, quality)
    if maximum < INT64_MAX:
        is_implausible = np.abs(column) > maximum  # the absolute value of ABSENT is negative
        rows = np.flatnonzero(is_implausible).tolist()
        _count_wrong((odd.get(row, int(column[row])) for row in rows), key, quality)
        column[is_implausible] = ABSENT
    return column


def _plain_ints(values: list[Any]) -> Int64 | None:
    """The column if all values are int64 integers or None (JSON's null); else None."""
    kinds = set(map(type, values))
    if not kinds <= {int, type(None)}:
        return None
    numbers = [ABSENT if value is None else value for value in values] if len(kinds) > 1 else values
    with suppress(OverflowError, TypeError):
        return np.array(numbers, np.int64)
    return None


def float_column(values: list[Any], quality: QualityReport, key: str = "") -> Float64:
    """Convert to a float64 column; None and values that are not finite numbers become NaN.

    A float NaN is the default of an absent argument and is not counted.
    """
    if set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            return np.array(values, np.float64)
    return checked_floats(np.empty(len(values)), dict(enumerate(values)), quality, key)


def checked_floats(
    column: Float64, odd: Mapping[int, Any], quality: QualityReport, key: str
) -> Float64:
    """Complete a column of plain numbers, in place; as :func:`checked_ints`."""
    if odd:
        rows = list(odd)
        column[rows] = [_as_float(value) for value in odd.values()]
        _count_wrong((odd[row] for row in rows if math.isnan(column[row])), key, quality)
    return column


def _count_wrong(values: Iterable[Any], key: str, quality: QualityReport) -> None:
    """Count wrong values; absent ones are not wrong."""
    for value in values:
        if is_not_a_number(value):
            quality.add("not_a_number")
        elif not (value is None or value == ABSENT or _is_nan(value)):
            quality.add("argument_value", 1, f"{key}: {preview(value)}")


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def preview(value: Any) -> str:
    """A wrong value as an example: truncated; of a list or object only its type and size, because
    it may hold secrets."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    text = json.dumps(value[:PREVIEW_CHARS] if isinstance(value, str) else value)
    return text if len(text) <= PREVIEW_CHARS else f"{text[: PREVIEW_CHARS - 1]}…"


def flag_column(values: list[Any]) -> Int8:
    """1 for true, 0 for false, -1 for absent or unreadable."""
    words = {"true": 1, "1": 1, "false": 0, "0": 0}
    return np.array([words.get(str(value).lower(), -1) for value in values], np.int8)


def text_of(value: Any) -> str:
    """A scalar as text: ids may be numbers, text, or absent."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def hashable(value: Any) -> Any:
    """A decoded value as key: lists and objects as their text."""
    return str(value) if isinstance(value, (list, dict)) else value


def text_codes(
    values: list[Any],
    strings: Interner,
    normalize: Callable[[Any], str | None] = text_of,
    absent: str | None = None,
) -> Int32:
    """Dictionary codes of texts; each distinct value is normalized once.

    Args:
        values: The decoded values.
        strings: The dictionary; new texts are added.
        normalize: Converts a value other than None to text.
        absent: The text for None and empty text; without it their code is -1.
    """
    if absent is None and values.count(None) == len(values):
        return np.full(len(values), -1, np.int32)
    distinct = Interner()
    try:
        codes = np.array([distinct[value] for value in values], np.int32)
    except TypeError:  # a list or an object
        distinct.clear()
        codes = np.array([distinct[text_of(value)] for value in values], np.int32)
    return _final_codes(distinct, strings, normalize, absent)[codes]


def _final_codes(
    distinct: Interner,
    strings: Interner,
    normalize: Callable[[Any], str | None],
    absent: str | None = None,
) -> Int32:
    texts = [(None if value is None else normalize(value)) or absent for value in distinct]
    return np.array([strings[text] if text else -1 for text in texts], np.int32)


def list_text(raw: bytes) -> str | None:
    """The canonical text of a list, ``[[2, 8, 5], [], []]``; None for null or nothing.

    A list longer than any list of shapes stays as it is written.
    """
    if not raw:
        return None
    if len(raw) > MAX_TEXT_CHARS:
        return raw.decode("utf-8", "replace")
    return _short_list_text(raw) if len(raw) <= SHORT_BYTES else _decoded_list(raw)


def _decoded_list(raw: bytes) -> str | None:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace")
    return None if value is None else str(value)


_short_list_text = lru_cache(maxsize=8192)(_decoded_list)
"""Cached, because every piece of a file has the same shapes."""


def raw_codes(raws: list[msgspec.Raw], strings: Interner) -> Int32:
    """Dictionary codes of undecoded lists, by their canonical text."""
    if raws.count(ABSENT_RAW) == len(raws):
        return np.full(len(raws), -1, np.int32)
    distinct = Interner()
    texts = b"\n".join(raws).split(b"\n")
    if len(texts) != len(raws):  # a list that spans several lines
        texts = list(map(bytes, raws))
    codes = np.array([distinct[text] for text in texts], np.int32)
    return _final_codes(distinct, strings, list_text)[codes]
