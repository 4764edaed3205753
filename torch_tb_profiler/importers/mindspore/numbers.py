"""Numbers of text files, converted to other units without a rounding of their own.

They stay decimals until their unit is the last one: 0.00179 ms are 1.79 µs and nothing beside.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

MAX_DIGITS = 18
"""A number of more digits before its point is beyond sense."""

MS = 3
"""Milliseconds to microseconds, as a power of ten."""
TICKS = -2
"""Ticks of 10 ns to microseconds."""
RATIO = 2
"""A part of one to percent."""
MILLIONS = 6
BILLIONS = 9


def decimal(value: object) -> Decimal | None:
    """A number of a file; None for anything else, NaN and what is beyond sense."""
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
    """A number of a file × 10 to a power; None where it is none."""
    exact = decimal(value)
    return None if exact is None else float(exact.scaleb(power))


def whole(value: object) -> int | None:
    """A number of a file without a part behind its point; None where it is none."""
    exact = decimal(value)
    return None if exact is None or exact != exact.to_integral_value() else int(exact)


def mean(values: list[Decimal]) -> Decimal | None:
    """The mean; None of nothing."""
    return sum(values, Decimal(0)) / len(values) if values else None
