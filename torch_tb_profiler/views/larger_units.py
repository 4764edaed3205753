"""Units of samples whose numbers would be too long to read, in larger ones."""

from __future__ import annotations

LARGER = {"bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))}
"""Unit → larger ones, the largest first, with how many of it they are."""


def larger_unit(unit: str, highest: float) -> tuple[float, str]:
    """The divisor for values up to ``highest``, and the resulting unit."""
    larger = (each for each in LARGER.get(unit, ()) if each[0] <= highest)
    return next(larger, (1.0, unit))
