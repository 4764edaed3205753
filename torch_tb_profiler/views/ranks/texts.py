"""Values of ranks, and their changes, as sentences have them."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text, percent_text

_SHOWN_RANGES = 8


def value_text(unit: str | None, value: float | None) -> str:
    """A value in ``"ns"``, ``"pct"`` or, without unit, a count."""
    if value is None:
        return "none"
    if unit == "ns":
        return duration_text(value / NS_PER_US)
    return percent_text(value) if unit == "pct" else f"{value:,.0f}"


def change_text(key: str, value: float, median: float) -> str:
    """How a value differs from the median: ``"+12.3 %"``, of percentages ``"−8.1 points"``, and of
    times without any in the median the time itself."""
    if key.endswith("_pct"):
        return f"{_signed(value - median)} points"
    if median:
        return f"{_signed(100 * (value - median) / abs(median))} %"
    return f"+{duration_text(value / NS_PER_US)}" if key.endswith("_ns") else f"{value:+,.0f}"


def _signed(value: float) -> str:
    return f"{value:+,.1f}".replace("-", "−")


def ranges_text(ranks: Iterable[int]) -> str:
    """``"0-6, 8, 10-63"``; of many stretches the first, and how many ranks are left."""
    stretches: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if stretches and rank == stretches[-1][1] + 1:
            stretches[-1][1] = rank
        else:
            stretches.append([rank, rank])
    shown = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in stretches[:_SHOWN_RANGES]
    ]
    more = sum(last - first + 1 for first, last in stretches[_SHOWN_RANGES:])
    return ", ".join([*shown, f"{more:,} more"] if more else shown)
