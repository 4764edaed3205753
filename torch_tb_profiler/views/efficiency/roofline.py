"""The roofline plot: the roofs of the devices, and a point per row.

Definitions: ``docs/views-efficiency.md#roofline``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.knowledge.peaks import DevicePeaks
from torch_tb_profiler.views.efficiency.columns import ROOFLINE_POINTS
from torch_tb_profiler.views.schema import Line, Series, Table

MAX_POINTS = 300
"""Points that are drawn, those with the most device time; more could not be distinguished."""

_DECADE = 10.0
_LOWEST, _HIGHEST = 1e-2, 1e4
"""Where roofs begin and end at least, in FLOP per byte: from additions to large products."""


def roofline_points(operators: Table) -> Table:
    """The points: rows of the table of operators with a known place in the plot."""
    known = ("intensity_flop_per_byte", "tflops_per_s", "device_time_pct")
    rows = (
        operators.frame.with_row_index("row")
        .filter(*(pl.col(key) > 0 for key in known))
        .sort("device_time_pct", descending=True, maintain_order=True)
        .head(MAX_POINTS)
    )
    schema = ROOFLINE_POINTS.polars_schema()
    frame = rows.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    reasons = {key: operators.null_reasons[key] for key in schema if key in operators.null_reasons}
    return Table(ROOFLINE_POINTS, frame, reasons)


def roofline(peaks: Mapping[int, DevicePeaks], points: Table) -> Series | None:
    """The roofs: a line per type that points have, and that of the memory where it ends them all;
    None where no device has a known roof.

    Lines of several devices that are the same are one.
    """
    x = points.frame["intensity_flop_per_byte"]
    low = min(float(x.min() or 1.0) / _DECADE, _LOWEST)  # type: ignore[arg-type]
    high = max(float(x.max() or 1.0) * _DECADE, _HIGHEST)  # type: ignore[arg-type]
    types = {
        name
        for text in points.frame["dtype"].drop_nulls().unique().to_list()
        for name in text.split(", ")
    }
    lines: dict[str, Line] = {}
    for device in peaks.values():
        for name, rate in _rates(device, types):
            line = _roof(name, rate, device.bandwidth_gb_per_s, low, high)
            lines.setdefault(line.name, line)
    if not lines:
        return None
    ordered = sorted(lines.values(), key=lambda line: -(line.y[-1] or 0.0))
    return Series(
        "Roofline",
        "line",
        "FLOP per byte (log)",
        None,
        "TFLOP/s (log)",
        None,
        tuple(ordered),
    )


def _rates(device: DevicePeaks, types: set[str]) -> list[tuple[str, float]]:
    """Name and TFLOP/s of the roofs of types: of products, and of other work where it is lower."""
    rates = []
    for dtype in sorted(types):
        product, other = device.of_products(dtype), device.of_other_work(dtype)
        if product is not None:
            rates.append((dtype, product))
        if other is not None and other != product and dtype in device.vector:
            rates.append((f"{dtype} without matrix units", other))
    return rates


def _roof(name: str, rate: float, bandwidth: float | None, low: float, high: float) -> Line:
    """A roof: what memory feeds up to the ridge, level from there on."""
    title = f"{name}: {rate:g} TFLOP/s"
    if bandwidth is None:
        return Line(title, [low, high], [rate, rate])
    slope = bandwidth / 1e3  # TFLOP/s per FLOP per byte
    ridge = min(max(rate / slope, low), high)
    title = f"{title}, memory {bandwidth:g} GB/s"
    return Line(title, [low, ridge, high], [low * slope, min(ridge * slope, rate), rate])
