"""The course of memory per device, thinned for drawing, and its peaks."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.records import MemoryDevice
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Fact, Line, Series, TableSpec

MAX_POINTS = 8_000
"""Points of one line at most: about two for each pixel of a 4K screen."""
_POINTS_PER_BUCKET = 5

PEAK_KEYS = ("peak_allocated_bytes", "peak_reserved_bytes")

PEAKS = TableSpec(
    name="memory_peaks",
    title="Peak memory",
    help="One row per device with memory records.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column(
            "peak_allocated_bytes",
            "Peak Allocated",
            "integer",
            "bytes",
            "Largest total of live allocations, as reported by the allocator.",
            family="memory",
        ),
        Column(
            "peak_reserved_bytes",
            "Peak Reserved",
            "integer",
            "bytes",
            "Largest total that the allocator reserved from the device, in use or cached.",
            family="memory",
        ),
        Column(
            "peak_us",
            "Peak Time",
            "number",
            "us",
            "When the allocated peak was first reached, from the start of the recording.",
        ),
        *(
            Column(
                f"recorded_peak_{what}_bytes",
                f"Peak {what.capitalize()}, as Recorded",
                "integer",
                "bytes",
                f"Largest {what} memory of the whole recording as its allocator counts it, also "
                "between events and before the recording.",
                family="memory",
                hidden=True,
            )
            for what in ("allocated", "reserved")
        ),
        Column(
            "device_memory_bytes",
            "Device Memory",
            "integer",
            "bytes",
            "Total memory of the device, as recorded.",
            family="memory",
        ),
    ),
)


def downsampled(points: MemoryCurve, limit: int = MAX_POINTS) -> Int64:
    """Which points to draw, ascending: all of at most ``limit``; else of each of equally long
    stretches of time the first and last, the lowest and highest allocated, the highest reserved.
    """
    count = len(points.time_ns)
    if count <= limit:
        return np.arange(count)
    buckets = max(1, limit // _POINTS_PER_BUCKET)
    begin, end = int(points.time_ns[0]), int(points.time_ns[-1])
    edges = begin + (np.arange(1, buckets) * ((end - begin + 1) / buckets)).astype(np.int64)
    bucket = np.searchsorted(edges, points.time_ns, side="right")
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    last = np.append(first[1:], count) - 1
    selected = [first, last]
    for values in (points.allocated_bytes, -points.allocated_bytes, points.reserved_bytes):
        # Of equal values the first point is kept, as that is where the peak is said to be.
        highest = np.repeat(np.maximum.reduceat(values, first), last - first + 1)
        reached = np.flatnonzero(values == highest)
        selected.append(reached[np.searchsorted(reached, first)])
    return distinct_values(np.concatenate(selected))


def curve_series(
    devices: list[MemoryDevice], curves: list[MemoryCurve], origin_ns: int
) -> Series | None:
    """The chart of all curves; None when no record has a total."""
    lines: list[Line] = []
    for device, points in zip(devices, curves, strict=True):
        drawn = downsampled(points)
        if not len(drawn):
            continue
        x = ((points.time_ns[drawn] - origin_ns) / NS_PER_US).tolist()
        allocated = points.allocated_bytes[drawn].astype(np.float64).tolist()
        reserved = [
            None if value == ABSENT else float(value)
            for value in points.reserved_bytes[drawn].tolist()
        ]
        lines.append(Line(f"{device.label} allocated", x, allocated))
        if any(value is not None for value in reserved):
            lines.append(Line(f"{device.label} reserved", x, reserved))
    if not lines:
        return None
    return Series(
        "Memory over time",
        "stair",
        "Time since the start of the recording",
        "us",
        "Memory",
        "bytes",
        tuple(lines),
    )


NO_RECORDED_PEAK = "The recording states no peaks of its own."
WHOLE_ONLY = "The recording states its peaks for all of it, not for a selection."


def recorded_peak_reasons(selection: Selection) -> dict[str, str]:
    """Why peaks as recorded are null."""
    reason = NO_RECORDED_PEAK if selection.is_everything else WHOLE_ONLY
    return dict.fromkeys((f"recorded_{key}" for key in PEAK_KEYS), reason)


def recorded_peak_facts(frame: pl.DataFrame) -> tuple[Fact, ...]:
    """The peaks that the recording states, of the rows of :data:`PEAKS`."""
    return tuple(
        Fact(column.key, column.title, row[column.key], "bytes", row["device"], column.help)
        for row in frame.iter_rows(named=True)
        for column in PEAKS.columns
        if column.key.startswith("recorded_") and row[column.key] is not None
    )


def _with_recorded(trace: Trace, selection: Selection, frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with the peaks that the recording states, for all of it."""
    side = trace.side.get("recorded_memory_peaks")
    recorded: dict[tuple[int, int], tuple[int | None, ...]] = {}
    if side is not None and selection.is_everything:
        recorded = {row[:2]: row[2:] for row in side.frame.rows()}
    keys = zip(frame["type"].to_list(), frame["id"].to_list(), strict=True)
    values = [recorded.get(key, (None, None)) for key in keys]
    return frame.with_columns(
        pl.Series(f"recorded_{key}", [each[at] for each in values], dtype=pl.Int64)
        for at, key in enumerate(PEAK_KEYS)
    ).select(list(PEAKS.polars_schema()))


def peaks_frame(
    trace: Trace,
    selection: Selection,
    devices: list[MemoryDevice],
    curves: list[MemoryCurve],
    origin_ns: int,
) -> pl.DataFrame:
    """The rows of :data:`PEAKS`."""
    memory = dict(trace.devices.select("device", "memory_bytes").iter_rows())
    rows: list[tuple[str, int | None, int | None, float | None, int | None]] = []
    for device, points in zip(devices, curves, strict=True):
        capacity = None if device.type == CPU_TYPE else memory.get(device.id)
        peak = points.peak()
        if peak is None:
            rows.append((device.label, None, None, None, capacity))
            continue
        reserved = int(points.reserved_bytes.max())
        rows.append(
            (
                device.label,
                int(points.allocated_bytes[peak]),
                None if reserved == ABSENT else reserved,
                (int(points.time_ns[peak]) - origin_ns) / NS_PER_US,
                capacity,
            )
        )
    schema = {
        key: dtype
        for key, dtype in PEAKS.polars_schema().items()
        if not key.startswith("recorded_")
    }
    own = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        type=pl.Series([device.type for device in devices], dtype=pl.Int64),
        id=pl.Series([device.id for device in devices], dtype=pl.Int64),
    )
    return _with_recorded(trace, selection, own)
