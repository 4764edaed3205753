"""The call that launched each operation, from the arrows of rocmProfileData's Chrome JSON.

An arrow begins two microseconds before its call ends, or where its operation starts if that is
earlier, and ends where the operation starts: both are found by these times.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.kineto.event_kinds import API_TO_OPERATION
from torch_tb_profiler.trace.columns import Bools, ColumnArrays, EventColumns, Int64

BEFORE_END_NS = 2000
MICROSECOND_NS = 1000

_LAUNCHES = re.compile(r"(launch|mem(cpy|set)|graph|copy|fill|barrier)", re.IGNORECASE)
"""Calls that put work on a device, preferred where several calls end together."""

_Call = tuple[int, int, int, bool]
"""End, start, row, and whether its name is that of a launch."""


def link_operations(
    columns: EventColumns, slices: ColumnArrays, is_call: Bools, on_gpu: Bools
) -> Int64:
    """Per slice the row of the call that launched it, -1 for none.

    Args:
        columns: The events of the file.
        slices: Their slices.
        is_call: Whether a slice is a call.
        on_gpu: Whether a slice is in a row of a GPU.
    """
    launch = np.full(len(is_call), -1, np.int64)
    arrows = _arrows(columns)
    if not len(arrows):
        return launch
    operation = _operations(arrows, slices, np.flatnonzero(on_gpu))
    calls = _calls_by_track(slices, np.flatnonzero(is_call), columns.strings)
    used: set[int] = set()
    columns_of_arrows = (arrows[name].to_list() for name in ("track", "time_ns", "time_ns_end"))
    for row, track, start, end in zip(operation, *columns_of_arrows, strict=True):
        if row is None or track not in calls:
            continue
        call = _call(*calls[track], start, start == end, used)
        if call >= 0:
            used.add(call)
            launch[row] = call
    return launch


def _arrows(columns: EventColumns) -> pl.DataFrame:
    """The arrows in order: track and time of both ends."""
    flows = pl.DataFrame(columns.tables["flows"])
    strings = columns.strings
    code = strings.index(API_TO_OPERATION) if API_TO_OPERATION in strings else -1
    flows = flows.filter(pl.col("raw_category_code") == code)
    ends = flows.filter(pl.col("is_start") == 0).unique("flow_id_code", keep="first")
    return flows.filter(pl.col("is_start") == 1).join(
        ends, on="flow_id_code", how="inner", suffix="_end", maintain_order="left"
    )


def _operations(arrows: pl.DataFrame, slices: ColumnArrays, rows: Int64) -> list[int | None]:
    """Per arrow the operation at its end: of several that start together the next one."""
    keys = ["track", "time_ns"]
    operations = pl.DataFrame(
        {
            "track": slices["track"][rows],
            "time_ns": slices["start_ns"][rows],
            "row": rows,
        }
    ).with_columns(turn=pl.int_range(pl.len()).over(keys))
    heads = arrows.select(
        pl.col("track_end").alias("track"), pl.col("time_ns_end").alias("time_ns")
    )
    heads = heads.with_columns(turn=pl.int_range(pl.len()).over(keys))
    matched: list[int | None] = heads.join(
        operations, on=[*keys, "turn"], how="left", maintain_order="left"
    )["row"].to_list()
    return matched


def _calls_by_track(
    slices: ColumnArrays, rows: Int64, strings: Sequence[str]
) -> dict[int, tuple[list[_Call], list[_Call]]]:
    """Per track its calls in order of their ends, and in order of their starts."""
    is_launch = [_LAUNCHES.search(text) is not None for text in strings]
    calls: dict[int, list[_Call]] = {}
    start = slices["start_ns"][rows]
    values = (
        slices["track"][rows].tolist(), (start + slices["dur_ns"][rows]).tolist(), start.tolist(),
        rows.tolist(), slices["name_code"][rows].tolist(),
    )  # fmt: skip
    for track, end, begin, row, name in zip(*values, strict=True):
        calls.setdefault(track, []).append((end, begin, row, is_launch[name]))
    return {
        track: (sorted(each), sorted(each, key=lambda call: call[1]))
        for track, each in calls.items()
    }


def _call(
    by_end: list[_Call], by_start: list[_Call], time_ns: int, is_at_start: bool, used: set[int]
) -> int:
    """The row of the call at the beginning of an arrow, -1 for none.

    Args:
        by_end: The calls of its track in order of their ends.
        by_start: The same in order of their starts.
        time_ns: Where it begins.
        is_at_start: Whether its operation starts there too, before the call ends.
        used: Calls that launched something already; calls that launch several operations exist.
    """
    candidates: list[_Call] = []
    if not is_at_start:
        end_ns = time_ns + BEFORE_END_NS
        first = bisect_left(by_end, end_ns - MICROSECOND_NS, key=lambda call: call[0])
        last = bisect_right(by_end, end_ns, key=lambda call: call[0])
        candidates = by_end[first:last]
    if not candidates:
        last = bisect_right(by_start, time_ns, key=lambda call: call[1])
        nearby = by_start[max(0, last - _NEARBY) : last]
        candidates = [call for call in nearby if call[0] + MICROSECOND_NS >= time_ns]
    best = max(candidates, key=lambda call: (call[3], call[2] not in used, call[1]), default=None)
    return -1 if best is None else best[2]


_NEARBY = 64
"""So many calls before a time are looked at: a call that encloses more of them launches nothing."""
