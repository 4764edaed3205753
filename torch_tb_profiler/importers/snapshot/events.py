"""The events of the allocators, device by device: when, and how much is there after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.importers.snapshot.entries import Entries, EntryRun
from torch_tb_profiler.trace.columns import ABSENT, MEMORY_COLUMNS, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SNAPSHOT_ACTIONS

CUDA, CPU = 1, 0
"""c10::DeviceType; other devices write snapshots that say no type."""

NS_PER_US = 1000
NS_PER_S = 10**9
MAX_TIME_US = 2**52
HOST = -1

_CODE = {action: code for code, action in enumerate(SNAPSHOT_ACTIONS)}
ALLOC, FREE, OOM = _CODE["alloc"], _CODE["free_completed"], _CODE["oom"]
_ALLOCATED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int64)
_ALLOCATED[[ALLOC, FREE]] = 1, -1
_RESERVED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int64)
_RESERVED[[_CODE["segment_alloc"], _CODE["segment_map"]]] = 1
_RESERVED[[_CODE["segment_free"], _CODE["segment_unmap"]]] = -1
"""What an action adds; the last place is that of unknown ones."""


@dataclass(frozen=True, slots=True)
class DeviceEvents:
    """The events of all devices.

    Attributes:
        frame: The side table ``snapshot_events``.
        devices: The devices that have any, in order.
        track: The place of its device in ``devices``, per event.
        has_times: Whether the file says when something happened.
        end_ns: When the last one happened.
    """

    frame: pl.DataFrame
    devices: list[int]
    track: Int64
    has_times: bool
    end_ns: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.frame.height


def events_of(
    traces: Mapping[int, Any], entries: Entries, segments: pl.DataFrame, blocks: pl.DataFrame
) -> tuple[DeviceEvents, int, pl.DataFrame]:
    """The events of every device, the epoch nanoseconds that their times count from, and the
    blocks as they are in the end with their sizes as events tell them.

    The totals are anchored at what the segments hold in the end, and walked back from there: what
    was alive before the first event that is still there counts.

    Args:
        traces: By device the list that the file has of it.
        entries: All entries that were read.
        segments: The segments in the end, ``snapshot_segments``.
        blocks: The blocks in the end, ``snapshot_blocks`` but for ``traced_bytes``.
    """
    places = {device: _rows_of(trace) for device, trace in traces.items()}
    places = {device: found for device, found in places.items() if len(found)}
    devices = sorted(places)
    order = np.concatenate([places[device] for device in devices] or [np.empty(0, np.int64)])
    count = np.array([len(places[device]) for device in devices], np.int64)
    times, base_ns, has_times = _times(_chosen(entries.time_us, order), count)
    action, size = _chosen(entries.action, order), _chosen(entries.size, order)
    size = np.where(size == ABSENT, 0, size)
    ends = dict(zip(devices, np.cumsum(count).tolist(), strict=True))
    is_oom = action == OOM
    address = _chosen(entries.address, order)
    numbers = np.repeat(np.array(devices, np.int32), count)
    blocks = with_traced(blocks, numbers, address, np.where(action == ALLOC, size, ABSENT))
    in_use = blocks.filter(pl.col("state") != "inactive")
    final = {"allocated": _sums(in_use, "traced_bytes"), "reserved": _sums(segments, "total_bytes")}
    totals = {
        name: _walked(sign[action] * size, ends, count, final[name])
        for name, sign in (("allocated", _ALLOCATED), ("reserved", _RESERVED))
    }
    columns: dict[str, pl.Series | np.ndarray[Any, Any]] = {
        "device": numbers,
        "action": action,
        "address": _nullable(np.where(is_oom, ABSENT, address)),
        "size_bytes": _nullable(_chosen(entries.size, order)),
        "stream": _nullable(_chosen(entries.stream, order)),
        "time_ns": times,
        "stack": _chosen(entries.stack, order),
        "device_free_bytes": _nullable(np.where(is_oom, address, ABSENT)),
        "allocated_bytes": totals["allocated"],
        "reserved_bytes": totals["reserved"],
    }
    frame = pl.DataFrame(columns, SIDE_SCHEMAS["snapshot_events"])
    track = np.repeat(np.arange(len(devices)), count)
    end_ns = int(times.max()) if len(times) else 0
    return DeviceEvents(frame, devices, track, has_times, end_ns), base_ns, blocks


def _chosen(values: npt.NDArray[Any], rows: Int64) -> npt.NDArray[Any]:
    """The values of rows, without a copy where they are all of them in order."""
    is_all = len(rows) == len(values) and bool((rows[1:] > rows[:-1]).all())
    return values if is_all else values[rows]


def _rows_of(trace: Any) -> Int64:
    """The rows of the entries of one list."""
    runs = [each for each in trace if isinstance(each, EntryRun)] if isinstance(trace, list) else []
    parts = [np.arange(run.start, run.end) for run in runs]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _times(time_us: Int64, count: Int64) -> tuple[Int64, int, bool]:
    """Times in ns from a base, none before the one in front of it on its device: threads write
    down theirs a little out of order, and the order is what happened. Without times 1 us each."""
    known = (time_us > 0) & (time_us < MAX_TIME_US)
    starts = np.cumsum(count) - count
    if not known.any():
        within = np.arange(len(time_us)) - np.repeat(starts, count)
        return within * NS_PER_US, 0, False
    base_us = int(time_us[known].min()) // 10**6 * 10**6
    times = np.where(known, time_us - base_us, 0) * NS_PER_US
    for start, size in zip(starts.tolist(), count.tolist(), strict=True):
        part = times[start : start + size]
        np.maximum.accumulate(part, out=part)
    return times, base_us * NS_PER_US, True


def with_traced(
    blocks: pl.DataFrame, device: Int32, address: Int64, alloc_bytes: Int64
) -> pl.DataFrame:
    """``blocks`` with ``traced_bytes``: PyTorch's events tell what was asked for, others the size
    of the block. Which it is, the blocks tell whose last allocation is among the events.

    Args:
        blocks: Rows of ``snapshot_blocks`` without that column.
        device: Of each event, in order.
        address: Likewise.
        alloc_bytes: What an allocation tells; ABSENT of other events.
    """
    telling = blocks.filter(
        pl.col("state") != "inactive", pl.col("size_bytes") != pl.col("requested_bytes")
    )
    known = np.unique(telling["address"].drop_nulls().to_numpy())
    rows = np.flatnonzero((alloc_bytes != ABSENT) & np.isin(address, known))
    rows = rows if len(known) else rows[:0]
    last = pl.DataFrame(
        {"device": device[rows], "address": address[rows], "alloc_bytes": alloc_bytes[rows]},
        {"device": pl.Int32, "address": pl.Int64, "alloc_bytes": pl.Int64},
    ).unique(["device", "address"], keep="last", maintain_order=True)
    both = telling.join(last, on=["device", "address"])
    as_block, as_asked = (
        (both["alloc_bytes"] == both[name]).sum() for name in ("size_bytes", "requested_bytes")
    )
    size = pl.col("size_bytes")
    asked = pl.coalesce("requested_bytes", size)
    traced = size if as_block > as_asked else asked
    return blocks.with_columns(traced_bytes=traced).select(*SIDE_SCHEMAS["snapshot_blocks"])


def _sums(frame: pl.DataFrame, column: str) -> dict[int, int]:
    """Bytes per device."""
    return dict(frame.group_by("device").agg(pl.col(column).sum()).iter_rows())


def _walked(delta: Int64, ends: dict[int, int], count: Int64, final: dict[int, int]) -> Int64:
    """The total after each event, so that the last one of each device is what there is in the
    end."""
    total = np.cumsum(delta)
    if not len(total):
        return total
    last = np.array([total[end - 1] for end in ends.values()])
    anchor = np.array([final.get(device, 0) for device in ends], np.int64) - last
    walked: Int64 = total + np.repeat(anchor, count)
    return walked


def _nullable(values: Int64) -> pl.Series:
    series = pl.Series(values)
    absent = values == ABSENT
    if not absent.any():
        return series
    return series.set(pl.Series(absent), None)


def memory_table(events: DeviceEvents) -> ColumnArrays:
    """The allocations, releases and failures among the events as rows of ``memory``."""
    action = events.frame["action"].to_numpy()
    kept = np.flatnonzero((action == ALLOC) | (action == FREE) | (action == OOM))
    action = action[kept]

    def column(name: str, absent: int = 0) -> npt.NDArray[Any]:
        return events.frame[name].gather(kept).fill_null(absent).to_numpy()

    size, device = column("size_bytes"), column("device")
    columns: ColumnArrays = {
        "track": events.track[kept],
        "time_ns": column("time_ns"),
        "device_type": np.where(device == HOST, CPU, CUDA),
        "device": device,
        "address": column("address", int(ABSENT)),
        "bytes": np.where(action == FREE, -size, size),
        "total_allocated_bytes": column("allocated_bytes"),
        "total_reserved_bytes": column("reserved_bytes"),
        "is_oom": action == OOM,
    }
    return {name: columns[name].astype(kind, copy=False) for name, kind in MEMORY_COLUMNS.items()}
