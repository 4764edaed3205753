"""The counters of the timeline: GPU use, memory, launch queue, those of the file, and samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.recording.device_kind import device_kind
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.curves import Curve, MeanCurve, StepCurve
from torch_tb_profiler.views.timeline.sampled import sampled_counters
from torch_tb_profiler.views.timeline.tracks import (
    Counter,
    Group,
    TimelineTrack,
    Unit,
    device_titles,
    group_of_row,
)

MAX_FILE_COUNTERS = 500
"""Counters of a file that are drawn; a damaged one may have a series per event."""

_SERIES = ("track", "name_code", "series_code")
_ALLOCATED = "Bytes in live allocations, as reported by the allocator."
_RESERVED = "Bytes reserved by the allocator, used or not."


class _Title(NamedTuple):
    title: str
    help: str | None
    unit: Unit | None


_UTILIZATION = _Title("GPU utilization", "Share of time in which at least one kernel ran.", "pct")
_EFFICIENCY = _Title(
    "Est. SM efficiency",
    "Estimated: mean blocks per SM of the running kernels, capped at 1.",
    "pct",
)
_QUEUE = _Title(
    "Launch queue length",
    "Launched device work that has not started, from the start of the launching call to the "
    "start of the work. Work without a recorded launch is left out.",
    "count",
)


def counters(trace: Trace, groups: Iterable[Group]) -> tuple[list[Counter], int]:
    """All counters of ``trace``, those of one group together in their order, samples last, and how
    many of the file are left out because it has more than :data:`MAX_FILE_COUNTERS`.

    Args:
        trace: The trace.
        groups: Headings there are; a counter that belongs under none brings its own.
    """
    known = {group.key: group for group in groups}
    retained, left_out = _most_counted(trace.counters)
    candidates = [*_gpu_counters(trace), *_memory_counters(trace, known)]
    candidates += _file_counters(trace, retained, known)
    listed = [
        replace(counter, track=replace(counter.track, maximum=counter.curve.maximum))
        for counter in candidates
    ]
    sampled, more = sampled_counters(trace)
    return [*listed, *sampled], left_out + more


def _counter(key: str, what: _Title, group: Group, curve: Curve) -> Counter:
    track = TimelineTrack(
        key,
        what.title,
        kind="counter",
        group=group.key,
        help=what.help,
        lanes=1,
        unit=what.unit,
    )
    return Counter(replace(track, device=group.device), group, curve)


def device_group(trace: Trace, device: int) -> Group:
    """The heading of a device."""
    row: dict[str, object] = {"is_device": True, "device": device}
    return group_of_row(row, device_titles(trace))


def _gpu_counters(trace: Trace) -> list[Counter]:
    listed = []
    origin = trace.meta.start_ns
    kind = device_kind(trace)
    utilization = (
        _UTILIZATION if kind is None else _UTILIZATION._replace(title=f"{kind.name} utilization")
    )
    for device, profile in gpu_profiles(trace).items():
        group = device_group(trace, device)
        busy = _busy_curve(profile.busy, origin)
        listed.append(_counter(f"d{device}.utilization", utilization, group, busy))
        if profile.filled is not None:
            edges, level = profile.filled.levels()
            curve = MeanCurve.of_levels(edges - origin, level * 100)
            key = f"d{device}.efficiency"
            listed.append(_counter(key, _EFFICIENCY, group, curve))
        queue = _queue_curve(trace, device)
        if queue is not None:
            key = f"d{device}.queue"
            listed.append(_counter(key, _QUEUE, group, queue))
    return listed


def _busy_curve(busy: Intervals, origin_ns: int) -> MeanCurve:
    edges = np.column_stack(busy).reshape(-1) - origin_ns
    return MeanCurve.of_levels(edges, np.tile((100.0, 0.0), len(busy.start_ns)))


def _queue_curve(trace: Trace, device: int) -> StepCurve | None:
    work = trace.device_work.filter(
        (pl.col("device") == device) & pl.col("launch").is_not_null()
    ).select("launch", "start_ns")
    launched = trace.slices["start_ns"].gather(work["launch"]).to_numpy()
    begun = work["start_ns"].to_numpy()
    waits = begun > launched
    if not waits.any():
        return None
    return StepCurve.of_ranges(
        launched[waits] - trace.meta.start_ns, begun[waits] - trace.meta.start_ns
    )


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
            title = _Title(f"{device.label} memory {name}", help_, "bytes")
            listed.append(_counter(f"m{number}.{name}", title, group, curve))
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
    if not points.height:
        return []
    rows = {row["track"]: row for row in trace.tracks.to_dicts()}
    names = device_titles(trace)
    listed = []
    parts = points.partition_by(_SERIES, maintain_order=True)
    for number, part in enumerate(parts):
        row = rows.get(part["track"][0])
        group = Group("counters", "Counters", "process")
        if row is not None:
            group = group_of_row(row, names)
            group = known.get(group.key, group)
        time, value = _finite(part, trace.meta.start_ns)
        name = trace.text(part["name_code"][0]) or "counter"
        series = trace.text(part["series_code"][0])
        title = name if series in (None, "", name) else f"{name}: {series}"
        if len(time):
            what = _Title(title, None, None)
            listed.append(_counter(f"c{number}", what, group, StepCurve(time, value)))
    return listed


def _finite(part: pl.DataFrame, origin_ns: int) -> tuple[Int64, Float64]:
    """Times and values in order of time; non-finite values are left out."""
    value = part["value"].fill_null(np.nan).to_numpy()
    time = part["time_ns"].to_numpy() - origin_ns
    rows = np.flatnonzero(np.isfinite(value))
    rows = rows[np.argsort(time[rows], kind="stable")]
    return time[rows], value[rows]
