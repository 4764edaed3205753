"""Lists of decoded JSON values → columns.

The usual case (all integers, all text) is one numpy call; what is not usual is read value by
value, so that a number written as text, hexadecimal or ``N/A`` costs time and not the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, Float64, Int8, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

INT64_MAX = 2**63 - 1
NO_NUMBER_WORDS = ("", "nan", "-nan", "inf", "-inf", "infinity", "-infinity", "n/a", "na", "none")


class Interner(dict[Any, int]):
    """Gives each distinct key the next number: ``codes = [interner[key] for key in keys]``."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code


def _as_int(value: Any) -> int:
    """An integer of the file as int64; addresses beyond keep their two's complement."""
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
    if isinstance(value, (int, float, str)):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return float("nan")
        return number if abs(number) != float("inf") else float("nan")
    return float("nan")


def is_no_number(value: Any) -> bool:
    """Whether a value stands for "no number": ``"N/A"``, ``"nan"``, a float NaN or inf."""
    if isinstance(value, str):
        return value.strip().lower() in NO_NUMBER_WORDS
    return isinstance(value, float) and not (abs(value) < float("inf"))


def int_column(values: list[Any], quality: QualityReport) -> Int64:
    """int64 column; None and what is no integer become ABSENT (``N/A`` and NaN are counted)."""
    filled = [ABSENT if value is None else value for value in values]
    try:
        column = np.array(filled, np.int64) if _all_ints(filled) else None
    except OverflowError:
        column = None
    if column is not None:
        return column
    quality.add("not_a_number", sum(map(is_no_number, filled)))
    return np.array([_as_int(value) for value in filled], np.int64)


def _all_ints(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {int, bool}


def float_column(values: list[Any], quality: QualityReport) -> Float64:
    """float64 column; None and what is no finite number become NaN (counted as above)."""
    filled = [float("nan") if value is None else value for value in values]
    if set(map(type, filled)) <= {int, float, bool}:
        try:
            column = np.array(filled, np.float64)
        except OverflowError:
            pass
        else:
            quality.add("not_a_number", int(np.isinf(column).sum()))
            column[np.isinf(column)] = np.nan
            return column
    quality.add("not_a_number", sum(map(is_no_number, values)))
    return np.array([_as_float(value) for value in filled], np.float64)


def flag_column(values: list[Any]) -> Int8:
    """1 for true, 0 for false, -1 for absent or unreadable."""
    words = {"true": 1, "1": 1, "false": 0, "0": 0}
    return np.array([words.get(str(value).lower(), -1) for value in values], np.int8)


def text_of(value: Any) -> str:
    """A scalar of the file as text: ids may be numbers, text, or nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def text_codes(values: Iterable[Any], strings: Interner) -> Int32:
    """Dictionary codes of texts; None and empty text are -1."""
    codes = [
        -1
        if value is None or value == ""
        else strings[value if type(value) is str else text_of(value)]
        for value in values
    ]
    return np.array(codes, np.int32)


def list_text(raw: bytes) -> str | None:
    """The one text form of a list, ``[[2, 8, 5], [], []]``; None for null or nothing."""
    if not raw:
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace")
    return None if value is None else str(value)


def raw_codes(
    raws: Iterable[msgspec.Raw],
    strings: Interner,
    normalise: Callable[[bytes], str | None] = list_text,
) -> Int32:
    """Dictionary codes of undecoded values, each distinct one normalised once."""
    distinct = Interner()
    codes = np.array([distinct[bytes(raw)] for raw in raws], np.int32)
    texts = [normalise(raw) for raw in distinct]
    final = np.array([-1 if text is None else strings[text] for text in texts], np.int32)
    return final[codes] if codes.size else codes
