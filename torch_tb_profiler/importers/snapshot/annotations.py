"""User ranges in a snapshot (``external_annotations``) → slices."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from torch_tb_profiler.importers.snapshot.events import DeviceEvents
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, SLICE_COLUMNS, ColumnArrays

NS_PER_US = 1000
_STEP = "ProfilerStep#"


def annotation_slices(
    annotations: list[Any], events: DeviceEvents, base_ns: int, strings: list[str], track: int
) -> ColumnArrays:
    """The ranges of the first device that has any; other devices repeat them.

    Args:
        annotations: Annotations in the file: ``{"stage", "name", "device", "time_us"}``.
        events: The allocator events, whose end closes open ranges.
        base_ns: The trace's base, in nanoseconds since the epoch.
        strings: The strings of the trace; the names are appended.
        track: The track of the ranges.
    """
    marks = [mark for mark in map(_mark, annotations) if mark is not None]
    first = min((device for device, *_ in marks), default=0)
    opened: dict[str, list[int]] = defaultdict(list)
    ranges: list[tuple[str, int, int]] = []
    for device, stage, name, time_ns in marks:
        if device != first:
            continue
        if stage == "START":
            opened[name].append(time_ns)
        elif opened[name]:
            ranges.append((name, opened[name].pop(), time_ns))
    end_ns = events.end_ns + base_ns
    ranges += [
        (name, start, max(start, end_ns)) for name, starts in opened.items() for start in starts
    ]
    codes: dict[str, int] = {}
    for name, _, _ in ranges:
        codes.setdefault(name, len(strings) + len(codes))
    strings += codes
    count = len(ranges)
    columns: ColumnArrays = {
        name: np.full(count, ABSENT if dtype is np.int64 else -1, dtype)
        for name, dtype in SLICE_COLUMNS.items()
    }
    columns["name_code"][:] = [codes[name] for name, _, _ in ranges]
    columns["category"][:] = [
        Category.STEP if name.startswith(_STEP) else Category.ANNOTATION for name, _, _ in ranges
    ]
    columns["track"][:] = track
    columns["start_ns"][:] = [start - base_ns for _, start, _ in ranges]
    columns["dur_ns"][:] = [end - start for _, start, end in ranges]
    return columns


def _mark(value: Any) -> tuple[int, str, str, int] | None:
    if not isinstance(value, dict):
        return None
    device, name, time_us = value.get("device"), value.get("name"), value.get("time_us")
    if not (isinstance(device, int) and isinstance(name, str) and isinstance(time_us, int)):
        return None
    if not 0 <= time_us < 2**52:
        return None
    return device, str(value.get("stage"))[:8], name[:1000], time_us * NS_PER_US
