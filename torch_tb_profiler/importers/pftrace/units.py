"""Units of counters, as descriptors state them, shown behind the counter's name: ``Power (W)``."""

from __future__ import annotations

from collections.abc import Sequence

GPU_UNITS: dict[int, str] = {
    1: "bit", 2: "kbit", 3: "Mbit", 4: "Gbit", 7: "B", 8: "kB", 9: "MB", 10: "GB", 11: "TB",
    13: "Hz", 14: "kHz", 15: "MHz", 16: "GHz", 19: "ns", 20: "us", 21: "ms", 22: "s",
    28: "mW", 29: "W", 30: "kW", 31: "J", 32: "V", 33: "A", 34: "C", 37: "%",
}  # fmt: skip
"""``GpuCounterDescriptor.MeasureUnit`` of Perfetto, without units of counted things."""

TRACK_UNITS: dict[int, str] = {1: "ns", 3: "B"}
"""``CounterDescriptor.Unit`` of Perfetto, without that of counts."""


def gpu_unit(numerator: Sequence[int], denominator: Sequence[int]) -> str:
    """The unit of a counter of a GPU, ``"B/s"``; empty if it has none, or one without a name.

    Args:
        numerator: Units that are multiplied, as numbers of :data:`GPU_UNITS`.
        denominator: Units by which that is divided.
    """
    if not numerator or any(each not in GPU_UNITS for each in (*numerator, *denominator)):
        return ""
    above, below = ("*".join(map(GPU_UNITS.__getitem__, each)) for each in (numerator, denominator))
    return f"{above}/{below}" if below else above


def with_unit(name: str, unit: str | None) -> str:
    """The name of a counter with its unit, unless the name has it already."""
    return f"{name} ({unit})" if unit and f"({unit})" not in name else name
