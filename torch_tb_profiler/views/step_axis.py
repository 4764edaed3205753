"""Where steps lie on the axis of a chart."""

from __future__ import annotations

from collections.abc import Sequence

MAX_DIGITS = 15
"""Digits of a whole number that a double holds exactly."""


def step_axis(names: Sequence[str]) -> list[float]:
    """The numbers that the steps are called; their positions from 0 where a name is none that an
    axis can tell from its neighbours."""
    if all(name.isascii() and name.isdecimal() and len(name) <= MAX_DIGITS for name in names):
        return [float(name) for name in names]
    return [float(position) for position in range(len(names))]
