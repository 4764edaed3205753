"""The events of the allocators, and how much there was after each."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.course import courses
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments, label_of
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Line, Series, Table
from torch_tb_profiler.views.snapshot.columns import HISTORY
from torch_tb_profiler.views.snapshot.rows import (
    DEVICE,
    filled,
    hexadecimal,
    since_start,
    with_metadata,
    with_stacks,
)

MAX_EVENTS = 2000
"""Events that the table holds at first; the rest is made when it is asked for itself."""

OF_OOM = "Only blocks and segments have an address."


def history_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`HISTORY` in the time of the selection."""
    events = side_frame(trace, "snapshot_events").with_row_index("event")
    if selection.start_ns is not None:
        events = events.filter(pl.col("time_ns") >= selection.start_ns)
    if selection.end_ns is not None:
        events = events.filter(pl.col("time_ns") < selection.end_ns)
    if events.height <= MAX_EVENTS:
        return _history(trace, events)
    first = _history(trace, events.head(MAX_EVENTS))
    return Table(
        first.spec, first.frame, first.null_reasons, row_count=events.height,
        all_rows=lambda: _history(trace, events),
    )  # fmt: skip


def _history(trace: Trace, events: pl.DataFrame) -> Table:
    names = dict(enumerate(SNAPSHOT_ACTIONS))
    frame = events.with_columns(
        DEVICE,
        time_us=since_start(trace, "time_ns"),
        action=pl.col("action").replace_strict(names, default=None, return_dtype=pl.String),
    )
    named = with_metadata(trace, with_stacks(trace, hexadecimal(frame)), "event")
    return filled(HISTORY, named, {"address": OF_OOM})


def curve(trace: Trace) -> Series | None:
    """The course of all devices; None without events."""
    events = side_frame(trace, "snapshot_events")
    lines: list[Line] = []
    for moments, rows in zip(device_moments(trace), courses(trace), strict=True):
        if not len(rows):
            continue
        drawn = events[rows]
        time = ((drawn["time_ns"] - trace.meta.start_ns) / NS_PER_US).to_list()
        label = label_of(moments.device)
        for name in ("allocated", "reserved"):
            values = drawn[f"{name}_bytes"].cast(pl.Float64).to_list()
            lines.append(Line(f"{label} {name}", time, values))
    if not lines:
        return None
    return Series(
        "Memory over time", "stair", "Time since the start of the recording", "us", "Memory",
        "bytes", tuple(lines),
    )  # fmt: skip
