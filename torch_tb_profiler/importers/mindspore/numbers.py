"""Parses numbers of text files, and converts their units exactly.

They stay decimals until the unit is final: 0.00179 ms is exactly 1.79 µs.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

MAX_DIGITS = 18
"""Numbers with more integer digits are not plausible."""

MS = 3
"""Milliseconds to microseconds, as a power of ten."""
TICKS = -2
"""Ticks of 10 ns to microseconds."""
RATIO = 2
"""A fraction of one to percent."""
MILLIONS = 6
BILLIONS = 9


def decimal(value: object) -> Decimal | None:
    """A number of a file; None for anything else, NaN and implausible numbers."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 100:
            return None
        try:
            value = Decimal(text)
        except InvalidOperation:
            return None
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    return value if abs(value.adjusted()) <= MAX_DIGITS or not value else None


def number(value: object, power: int = 0) -> float | None:
    """A number of a file × 10 to a power; None if it is not a number."""
    exact = decimal(value)
    return None if exact is None else float(exact.scaleb(power))


def integer(value: object) -> int | None:
    """An integer of a file; None if it is not an integer."""
    exact = decimal(value)
    return None if exact is None or exact != exact.to_integral_value() else int(exact)


def mean(values: list[Decimal]) -> Decimal | None:
    """The mean; None for an empty list."""
    return sum(values, Decimal(0)) / len(values) if values else None
