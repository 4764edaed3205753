"""Values of ranks, and their changes, as sentences have them."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text

LEAST_SHARE_PCT = 5.0
"""Smaller shares are left out of a sentence."""


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


def shares_text(times: Mapping[str, float | None]) -> str | None:
    """``"computing 80 %, launching 20 %"``, the largest first; None where all are 0."""
    known = {name: time for name, time in times.items() if time}
    whole = sum(known.values())
    shares = sorted(((100 * time / whole, name) for name, time in known.items()), reverse=True)
    shown = [f"{name} {pct:.0f} %" for pct, name in shares if pct >= LEAST_SHARE_PCT]
    return ", ".join(shown) or None
