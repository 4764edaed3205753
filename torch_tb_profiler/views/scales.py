"""Readable multiples of units (1 204 000 µs are 1.204 s), and numbers of decimals.

The pages choose by the same rules (``fe/src/lib/units.ts``, ``fe/src/table/columnView.ts``);
``tests/data/scaled_numbers.json`` holds examples for both.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import polars as pl

from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Unit


class Multiple(NamedTuple):
    """A multiple of a unit: value in the unit ÷ ``divisor`` = value in ``label``."""

    label: str
    divisor: float


_PLAIN = (Multiple("", 1),)
MULTIPLES: dict[Unit, tuple[Multiple, ...]] = {
    "us": (Multiple("ns", 1e-3), Multiple("µs", 1), Multiple("ms", 1e3), Multiple("s", 1e6)),
    "ns": (Multiple("ns", 1), Multiple("µs", 1e3), Multiple("ms", 1e6), Multiple("s", 1e9)),
    "bytes": (
        Multiple("B", 1),
        Multiple("KiB", 2**10),
        Multiple("MiB", 2**20),
        Multiple("GiB", 2**30),
        Multiple("TiB", 2**40),
    ),
    "flops": (
        Multiple("FLOP", 1),
        Multiple("MFLOP", 1e6),
        Multiple("GFLOP", 1e9),
        Multiple("TFLOP", 1e12),
    ),
    "gb_per_s": (Multiple("GB/s", 1),),
    "per_s": (Multiple("/s", 1),),
    "pct": (Multiple("%", 1),),
    "count": _PLAIN,
    "ratio": _PLAIN,
}
"""Unit → its multiples, smallest first; one of them is the unit itself."""


def multiple_for(unit: Unit | None, largest: float, *, least: float = 1) -> Multiple:
    """The multiple for values of which ``largest`` is the greatest in absolute value.

    Args:
        unit: Unit of the values, None for a plain number.
        largest: The greatest value; 0 and non-finite values take the unit itself.
        least: How many of a multiple above the unit the greatest value must be: more than 1 leaves
            digits for smaller values.
    """
    multiples = _PLAIN if unit is None else MULTIPLES[unit]
    base = next(multiple for multiple in multiples if multiple.divisor == 1)
    if largest == 0 or not math.isfinite(largest):
        return base
    chosen = multiples[0]
    for multiple in multiples[1:]:
        needed = least if multiple.divisor > 1 else 1
        if largest >= needed * multiple.divisor:
            chosen = multiple
    return chosen


LARGER = {"bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))}
"""Unit → larger ones, the largest first, with how many of it they are."""


def larger_unit(unit: str, highest: float) -> tuple[float, str]:
    """The divisor for values up to ``highest``, and the resulting unit."""
    larger = (each for each in LARGER.get(unit, ()) if each[0] <= highest)
    return next(larger, (1.0, unit))


_MOMENT = re.compile(r"(?:^|_)(?:start|end|at|allocation|release|peak|origin)_(?:us|ns)$")
_CONFIDENCE = re.compile(r"^confidence_.*pct$")
CONFIDENCE_DECIMALS = 1
_LEAST_NS = {"us": 1e-3, "ns": 1.0}
"""A nanosecond in the units that times have."""


def is_moment(key: str) -> bool:
    """Whether a column holds times of day, not lengths: ``start_us``, ``peak_us``. Its rows differ
    in the last digits, however large the numbers are."""
    return _MOMENT.search(key) is not None


def is_confidence(key: str) -> bool:
    """Whether a column or fact is a confidence: it has one decimal and never reads 100 %."""
    return _CONFIDENCE.search(key) is not None


def duration_text(duration_us: float) -> str:
    """A duration as a sentence has it: ``"12.3 µs"``, ``"178 ms"``, ``"1.50 s"``."""
    return _in_sentence("us", duration_us)


def size_text(size_bytes: float) -> str:
    """A size as a sentence has it: ``"512 B"``, ``"64.0 KiB"``."""
    return f"{size_bytes:.0f} B" if abs(size_bytes) < 2**10 else _in_sentence("bytes", size_bytes)


def percent_text(pct: float) -> str:
    """A percentage as a sentence has it: ``"33.1 %"``, ``"0 %"``, ``"100 %"``; ``"<0.1 %"`` and
    ``">99.9 %"`` for what would round to nothing or all."""
    if 0 < pct < 0.05:
        return "<0.1 %"
    if 99.95 <= pct < 100:
        return ">99.9 %"
    return f"{pct:.0f} %" if pct in (0, 100) else f"{pct:.1f} %"


def _in_sentence(unit: Unit, value: float) -> str:
    """A value with three significant digits in the unit a person would use."""
    label, divisor = multiple_for(unit, abs(value))
    shown = value / divisor
    if shown == 0:
        return f"0 {label}"
    digits = 2 - math.floor(math.log10(abs(float(f"{shown:.3g}"))))
    return f"{shown:,.{max(digits, 0)}f} {label}"


def value_text(unit: str | None, value: float | None) -> str:
    """A value as a sentence has it: in ``"ns"``, ``"us"``, ``"bytes"``, ``"pct"``, or a count."""
    if value is None:
        return "none"
    if unit in ("ns", "us"):
        return duration_text(value / NS_PER_US if unit == "ns" else value)
    if unit == "bytes":
        return size_text(value)
    return percent_text(value) if unit == "pct" else f"{value:,.0f}"


def confidence_text(pct: float) -> str:
    """A confidence as text; ``">99.9 %"`` if it would round to 100 %."""
    least = 100 - 10.0**-CONFIDENCE_DECIMALS
    shown = f"{pct:.{CONFIDENCE_DECIMALS}f}"
    return f"{f'>{least}' if float(shown) >= 100 else shown} %"


SIGNIFICANT_PCT = 95.0
"""From this confidence on a difference is called significant: the usual level of 5 %."""


def significance_text(confidence_pct: float) -> str:
    """What a confidence says of a difference: ``"not significant (p = 0.92)"``."""
    p = 1 - confidence_pct / 100
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    return f"{'' if confidence_pct >= SIGNIFICANT_PCT else 'not '}significant ({shown})"


def distinguishing_decimals(values: pl.Series, unit: Unit | None, divisor: float) -> int:
    """The decimals with which different ``values``, written in multiples of ``divisor``, differ:
    no more than a whole ns needs, 0 where no two values differ."""
    least = _LEAST_NS.get(unit or "", 0.0) / divisor
    gap = values.drop_nulls().unique().sort().diff().drop_nulls().min()
    if not isinstance(gap, int | float) or least == 0:
        return 0
    # Numbers that differ by more than one of the last decimal are never rounded to the same.
    needed = math.floor(-math.log10(gap / divisor)) + 1
    return min(max(needed, 0), round(-math.log10(least)))
