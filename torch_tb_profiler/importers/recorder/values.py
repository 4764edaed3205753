"""Values of blocks as columns may rely on them: anything else is null, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, EPOCH_NS, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

MAX_TIME_NS = 2**62
"""The year 2116; below, adding two does not overflow."""

MAX_TEXT_CHARS = 1000
WRONG = "journal_value"

_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers that make sense.

    Attributes:
        least: The smallest.
        most: The largest.
    """

    least: int = 0
    most: int = 2**53

    def one(self, value: Any, quality: QualityReport) -> int | None:
        """A number; None where it is absent, or none of this kind."""
        if type(value) is int and self.least <= value <= self.most:
            return value
        quality.add(WRONG, int(value is not None))
        return None

    def column(self, values: list[Any], quality: QualityReport) -> Int64:
        """A column; :data:`ABSENT` where there is no such number."""
        wrong = 0
        if set(map(type, values)) - {int}:
            wrong = sum(value is not None and type(value) is not int for value in values)
            values = [value if type(value) is int else ABSENT for value in values]
        try:
            numbers = np.array(values, np.int64)
        except OverflowError:
            fits = [_INT64.min <= value <= _INT64.max for value in values]
            wrong += fits.count(False)
            numbers = np.array(
                [value if fit else ABSENT for value, fit in zip(values, fits, strict=True)],
                np.int64,
            )
        beyond = (numbers != ABSENT) & ((numbers < self.least) | (numbers > self.most))
        numbers[beyond] = ABSENT
        quality.add(WRONG, wrong + int(beyond.sum()))
        return numbers


COUNT = Whole()
DURATION = Whole(0, 10**18)
TIME = Whole(EPOCH_NS + 1, MAX_TIME_NS)


def floats(values: list[Any], quality: QualityReport) -> Float64:
    """A column of numbers; NaN where there is none."""
    if set(map(type, values)) - {float, int}:
        wrong = sum(value is not None and type(value) not in (float, int) for value in values)
        quality.add(WRONG, wrong)
        values = [value if type(value) in (float, int) else np.nan for value in values]
    try:
        return np.array(values, np.float64)
    except OverflowError:
        fits = [abs(value) < 1e300 if type(value) is int else True for value in values]
        quality.add(WRONG, fits.count(False))
        shown = [value if fit else np.nan for value, fit in zip(values, fits, strict=True)]
        return np.array(shown, np.float64)


def text(value: Any, quality: QualityReport) -> str | None:
    """A text, cut where it is too long; None where it is absent or none."""
    if not isinstance(value, str):
        quality.add(WRONG, int(value is not None))
        return None
    quality.add("text_cut", int(len(value) > MAX_TEXT_CHARS))
    return value[:MAX_TEXT_CHARS]


def flag(value: Any, quality: QualityReport) -> bool | None:
    """A boolean; None where it is absent or none."""
    if isinstance(value, bool):
        return value
    quality.add(WRONG, int(value is not None))
    return None


def column_of(block: dict[str, Any], name: str, size: int, quality: QualityReport) -> list[Any]:
    """A column of a block, as long as its rows are many."""
    values = block.get(name)
    if not isinstance(values, list):
        quality.add(WRONG, int(values is not None))
        return [None] * size
    if len(values) != size:
        quality.add(WRONG, abs(len(values) - size))
        return (values + [None] * (size - len(values)))[:size]
    return values
