"""The counters of the timeline: of the devices' work, memory, those of the file, and samples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.measured.counters import counter_name, device_counters
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.curves import StepCurve
from torch_tb_profiler.views.timeline.device_counters import (
    CounterTitle,
    counter,
    work_counters,
)
from torch_tb_profiler.views.timeline.sampled import measured_counters, sampled_counters
from torch_tb_profiler.views.timeline.tracks import (
    Counter,
    Group,
    device_titles,
    group_of_row,
)

MAX_FILE_COUNTERS = 500
"""Counters of a file that are drawn; a damaged one may have a series per event."""

_SERIES = ("track", "name_code", "series_code")
_ALLOCATED = "Bytes in live allocations, as reported by the allocator."
_RESERVED = "Bytes reserved by the allocator, used or not."


def counters(trace: Trace, groups: Iterable[Group]) -> tuple[list[Counter], int]:
    """All counters of ``trace``, those of one group together in their order, samples last, and how
    many are left out: of the file beyond :data:`MAX_FILE_COUNTERS`, and of streams.

    Args:
        trace: The trace.
        groups: Headings there are; a counter that belongs under none brings its own.
    """
    known = {group.key: group for group in groups}
    retained, left_out = _most_counted(trace.counters)
    of_devices, queues_left_out = work_counters(trace)
    candidates = [*of_devices, *_memory_counters(trace, known)]
    candidates += [*measured_counters(trace, known), *_file_counters(trace, retained, known)]
    listed = [
        replace(each, track=replace(each.track, maximum=each.curve.maximum)) for each in candidates
    ]
    sampled, more = sampled_counters(trace)
    return [*listed, *sampled], left_out + queues_left_out + more


def _memory_counters(trace: Trace, known: dict[str, Group]) -> list[Counter]:
    if not trace.memory.height:
        return []
    records = memory_records(trace)
    processes = [group for group in known.values() if group.kind == "process"]
    listed = []
    for number, device in enumerate(records.devices):
        rows = np.flatnonzero((records.device == number) & records.has_totals)
        at_device = f"d{device.id}"
        if at_device in known and device.is_of_kernels:
            group = known[at_device]
        elif processes:
            group = processes[0]
        else:
            group = Group("memory", "Memory", "process")
        time = records.time_ns[rows] - trace.meta.start_ns
        for name, values, help_ in (
            ("allocated", records.allocated_bytes[rows], _ALLOCATED),
            ("reserved", records.reserved_bytes[rows], _RESERVED),
        ):
            given = values != ABSENT
            if not values[given].any():
                continue  # not measured: allocators without a pool say 0 throughout
            curve = StepCurve(time[given], values[given].astype(np.float64))
            title = CounterTitle(f"{device.label} memory {name}", help_, "bytes")
            listed.append(counter(f"m{number}.{name}", title, group, curve))
    return listed


def _most_counted(points: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The points of the counters that have most of them, and how many counters are left out."""
    points = points.with_columns(pl.col(*_SERIES).fill_null(-1))
    counted = points.group_by(_SERIES, maintain_order=True).len()
    if counted.height <= MAX_FILE_COUNTERS:
        return points, 0
    retained = counted.top_k(MAX_FILE_COUNTERS, by="len")
    left_out = counted.height - MAX_FILE_COUNTERS
    return points.join(retained, on=_SERIES, how="semi"), left_out


def _file_counters(trace: Trace, points: pl.DataFrame, known: dict[str, Group]) -> list[Counter]:
    """The counters of the file that are not of a device."""
    if not points.height:
        return []
    rows = {row["track"]: row for row in trace.tracks.to_dicts()}
    names = device_titles(trace)
    of_devices = {each.event for each in device_counters(trace)}
    listed = []
    parts = points.partition_by(_SERIES, maintain_order=True, as_dict=True)
    for number, (key, part) in enumerate(parts.items()):
        if key in of_devices:
            continue
        row = rows.get(key[0])
        group = Group("counters", "Counters", "process")
        if row is not None:
            group = group_of_row(row, names)
            group = known.get(group.key, group)
        time, value = _finite(part, trace.meta.start_ns)
        if len(time):
            what = CounterTitle(counter_name(trace, key[1], key[2]), None, None)
            listed.append(counter(f"c{number}", what, group, StepCurve(time, value)))
    return listed


def _finite(part: pl.DataFrame, origin_ns: int) -> tuple[Int64, Float64]:
    """Times and values in order of time; non-finite values are left out."""
    value = part["value"].fill_null(np.nan).to_numpy()
    time = part["time_ns"].to_numpy() - origin_ns
    rows = np.flatnonzero(np.isfinite(value))
    rows = rows[np.argsort(time[rows], kind="stable")]
    return time[rows], value[rows]
