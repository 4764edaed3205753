"""What memory is for over time and at the peak: by category, with passes and fragmentation.

Definitions: ``docs/views-memory.md#categories``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.levels import levels_at
from torch_tb_profiler.analysis.memory.passes import passes
from torch_tb_profiler.analysis.memory.records import MemoryRecords, memory_records
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.memory.curve import downsampled
from torch_tb_profiler.views.schema import Column, Line, Series, TableSpec

MAX_POINTS = 2_000
"""Points of one line at most: there are up to eight lines of each device."""
MAX_MARKS = 200
"""Passes that are marked at most: more are a wall."""

CATEGORIES = TableSpec(
    name="peak_categories",
    title="Peak memory by category",
    help="Memory of each device at its allocated peak, by category; the rows of one device add up "
    "to the peak.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column(
            "category",
            "Category",
            "string",
            None,
            "parameter, gradient, optimizer_state, activation, input, temporary or unknown.",
            estimated=True,
        ),
        Column("size_bytes", "Size", "integer", "bytes", "Live bytes.", family="size"),
        Column(
            "earlier_bytes",
            "Before the Recording",
            "integer",
            "bytes",
            "Part allocated before the recording; its category is inferred from the sizes of the "
            "gradients.",
            estimated=True,
            family="size",
        ),
        Column("share_pct", "Share", "number", "pct", "Share of the memory allocated at the peak."),
    ),
    sort="device,-size_bytes",
)


def categories_frame(trace: Trace, curves: list[MemoryCurve]) -> pl.DataFrame:
    """The rows of :data:`CATEGORIES` for the peak of each device's curve."""
    records = memory_records(trace)
    rows: list[tuple[str, str, int, int, float | None]] = []
    for device, points in enumerate(curves):
        peak = points.peak()
        if peak is None or not records.has_addresses:
            continue
        levels, known = levels_at(trace, device, points, np.array([peak]))
        total = int(points.allocated_bytes[peak])
        for category, size, own in zip(
            CATEGORY_NAMES, levels[:, 0].tolist(), known[:, 0].tolist(), strict=True
        ):
            if size > 0:
                share = 100.0 * size / total if total > 0 else None
                rows.append((records.devices[device].label, category, size, size - own, share))
    return pl.DataFrame(rows, schema=CATEGORIES.polars_schema(), orient="row")


def category_series(trace: Trace, curves: list[MemoryCurve], stretches: Intervals) -> Series | None:
    """The chart of levels by category, with where passes of the selected time (``stretches``)
    begin and end; None without levels."""
    records, origin = memory_records(trace), trace.meta.start_ns
    lines: list[Line] = []
    highest = 0.0
    if not records.has_addresses:
        return None
    for device, points in enumerate(curves):
        drawn = downsampled(points, MAX_POINTS)
        if not len(drawn):
            continue
        label = records.devices[device].label
        x = ((points.time_ns[drawn] - origin) / NS_PER_US).tolist()
        levels, _ = levels_at(trace, device, points, drawn)
        for category, values in zip(CATEGORY_NAMES, levels, strict=True):
            if values.any():
                lines.append(Line(f"{label} {category}", x, values.astype(np.float64).tolist()))
        reserved = _known(points.reserved_bytes[drawn])
        if any(value is not None for value in reserved):
            lines.append(Line(f"{label} reserved", x, reserved))
        highest = max(highest, float(points.allocated_bytes[drawn].max()))
    if not lines:
        return None
    lines += _marks(trace, stretches, highest)
    return _series("Memory by category", "Memory", lines)


def _known(values: Int64) -> list[float | None]:
    return [None if value == ABSENT else float(value) for value in values.tolist()]


def _marks(trace: Trace, stretches: Intervals, highest: float) -> list[Line]:
    """Upright strokes where forward passes begin and backward passes end."""
    of_process = passes(trace).get(-1)
    if of_process is None:
        return []
    lines: list[Line] = []
    for name, times in (
        ("forward start", of_process.starts(Phase.FORWARD)),
        ("backward end", of_process.backward_end_ns),
    ):
        at = np.searchsorted(stretches.start_ns, times, side="right") - 1
        inside = times[(at >= 0) & (times <= stretches.end_ns[at])]
        if not 0 < len(inside) <= MAX_MARKS:
            continue
        strokes = ((inside - trace.meta.start_ns) / NS_PER_US).repeat(3).tolist()
        lines.append(Line(name, strokes, [0.0, highest, None] * len(inside)))
    return lines


def _series(title: str, y_title: str, lines: list[Line]) -> Series:
    x_title = "Time since the start of the recording"
    return Series(title, "stair", x_title, "us", y_title, "bytes", tuple(lines))


def fragmentation_series(
    records: MemoryRecords, curves: list[MemoryCurve], origin_ns: int
) -> Series | None:
    """The chart of what allocators reserve beyond what is allocated; None where none says so."""
    lines: list[Line] = []
    for device, points in zip(records.devices, curves, strict=True):
        gap = points.fragmentation_bytes
        if not (gap != ABSENT).any():
            continue
        # Downsampling keeps the largest allocated value: here that is the gap.
        drawn = downsampled(MemoryCurve(points.record, points.time_ns, gap, gap), MAX_POINTS)
        x = ((points.time_ns[drawn] - origin_ns) / NS_PER_US).tolist()
        lines.append(Line(device.label, x, _known(gap[drawn])))
    if not lines:
        return None
    return _series("Reserved but not allocated", "Reserved − allocated", lines)
