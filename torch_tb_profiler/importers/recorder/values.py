"""Validates values of blocks: invalid ones become null and are counted. Codes of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import ABSENT, EPOCH_NS, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

MAX_TIME_NS = 2**62
"""The year 2116; the sum of two smaller times does not overflow."""

MAX_TEXT_CHARS = 1000
INVALID_VALUE = "journal_value"

_INT64 = np.iinfo(np.int64)


class IntegerRange(Struct, frozen=True):
    """A range of valid integers.

    Attributes:
        minimum: The smallest valid integer.
        maximum: The largest valid integer.
    """

    minimum: int = 0
    maximum: int = 2**53

    def validate(self, value: Any, quality: QualityReport) -> int | None:
        """Validate a value; None if it is absent or invalid."""
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        quality.add(INVALID_VALUE, int(value is not None))
        return None

    def validate_column(self, values: list[Any], quality: QualityReport) -> Int64:
        """Validate a column; :data:`ABSENT` where a value is absent or invalid."""
        invalid = 0
        if set(map(type, values)) - {int}:
            invalid = sum(value is not None and type(value) is not int for value in values)
            values = [value if type(value) is int else ABSENT for value in values]
        try:
            numbers = np.array(values, np.int64)
        except OverflowError:
            fits = [_INT64.min <= value <= _INT64.max for value in values]
            invalid += fits.count(False)
            numbers = np.array(
                [value if fit else ABSENT for value, fit in zip(values, fits, strict=True)],
                np.int64,
            )
        out_of_range = (numbers != ABSENT) & ((numbers < self.minimum) | (numbers > self.maximum))
        numbers[out_of_range] = ABSENT
        quality.add(INVALID_VALUE, invalid + int(out_of_range.sum()))
        return numbers


COUNT = IntegerRange()
DURATION = IntegerRange(0, 10**18)
TIME = IntegerRange(EPOCH_NS + 1, MAX_TIME_NS)


def floats(values: list[Any], quality: QualityReport) -> Float64:
    """Validate a column of numbers; NaN where a value is absent or invalid."""
    if set(map(type, values)) - {float, int}:
        invalid = sum(value is not None and type(value) not in (float, int) for value in values)
        quality.add(INVALID_VALUE, invalid)
        values = [value if type(value) in (float, int) else np.nan for value in values]
    try:
        return np.array(values, np.float64)
    except OverflowError:
        fits = [abs(value) < 1e300 if type(value) is int else True for value in values]
        quality.add(INVALID_VALUE, fits.count(False))
        valid = [value if fit else np.nan for value, fit in zip(values, fits, strict=True)]
        return np.array(valid, np.float64)


def text(value: Any, quality: QualityReport) -> str | None:
    """Validate a text, cut if it is too long; None if it is absent or invalid."""
    if not isinstance(value, str):
        quality.add(INVALID_VALUE, int(value is not None))
        return None
    quality.add("text_cut", int(len(value) > MAX_TEXT_CHARS))
    return value[:MAX_TEXT_CHARS]


def flag(value: Any, quality: QualityReport) -> bool | None:
    """Validate a boolean; None if it is absent or invalid."""
    if isinstance(value, bool):
        return value
    quality.add(INVALID_VALUE, int(value is not None))
    return None


def column_values(block: dict[str, Any], name: str, size: int, quality: QualityReport) -> list[Any]:
    """A column of a block, cut or filled with None to ``size`` rows."""
    values = block.get(name)
    if not isinstance(values, list):
        quality.add(INVALID_VALUE, int(values is not None))
        return [None] * size
    if len(values) != size:
        quality.add(INVALID_VALUE, abs(len(values) - size))
        return (values + [None] * (size - len(values)))[:size]
    return values


class StringCodes:
    """Assigns codes to texts: positions in a list of strings."""

    def __init__(self, strings: list[str]) -> None:
        """Start with a list of strings; new ones are appended to it."""
        self._strings = strings
        self._codes = {text: code for code, text in enumerate(strings)}

    def code(self, text: str) -> int:
        """The code of a text."""
        code = self._codes.setdefault(text, len(self._strings))
        if code == len(self._strings):
            self._strings.append(text)
        return code
