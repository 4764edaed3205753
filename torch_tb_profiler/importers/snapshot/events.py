"""The events of the allocators, device by device: when, and how much is there after each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.importers.snapshot.entries import Entries, EntryRun
from torch_tb_profiler.trace.columns import ABSENT, MEMORY_COLUMNS, ColumnArrays, Int8, Int32, Int64
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SNAPSHOT_ACTIONS

CUDA, CPU = 1, 0
"""c10::DeviceType; other devices write snapshots that say no type."""

NS_PER_US = 1000
NS_PER_S = 10**9
MAX_TIME_US = 2**52
HOST = -1

_CODE = {action: code for code, action in enumerate(SNAPSHOT_ACTIONS)}
ALLOC, FREE, OOM = _CODE["alloc"], _CODE["free_completed"], _CODE["oom"]
_ALLOCATED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int8)
_ALLOCATED[[ALLOC, FREE]] = 1, -1
_RESERVED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int8)
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
    track: Int32
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
    places = {device: found for device, found in places.items() if found}
    devices = sorted(places)
    order = _order([each for device in devices for each in places[device]])
    count = np.array([sum(b - a for a, b in places[device]) for device in devices], np.int64)
    times, base_ns, has_times = _times(_chosen(entries.time_us, order), count)
    action, told = _chosen(entries.action, order), _chosen(entries.size, order)
    ends = dict(zip(devices, np.cumsum(count).tolist(), strict=True))
    address = _chosen(entries.address, order)
    numbers = _repeated(devices, count)
    blocks = with_traced(blocks, numbers, address, action, told)
    in_use = blocks.filter(pl.col("state") != "inactive")
    final = {"allocated": _sums(in_use, "traced_bytes"), "reserved": _sums(segments, "total_bytes")}
    totals = {
        name: _walked(sign[action], told, ends, count, final[name])
        for name, sign in (("allocated", _ALLOCATED), ("reserved", _RESERVED))
    }
    stream = _chosen(entries.stream, order)
    free, addresses = _of_ooms(action, address)
    columns: dict[str, pl.Series | np.ndarray[Any, Any]] = {
        "device": numbers,
        "action": action,
        "address": addresses,
        "size_bytes": _nullable(told),
        "stream": _nullable(stream) if stream.any() else np.zeros(len(stream), np.int64),
        "time_ns": times,
        "stack": _chosen(entries.stack, order),
        "device_free_bytes": free,
        "allocated_bytes": totals["allocated"],
        "reserved_bytes": totals["reserved"],
    }
    frame = pl.DataFrame(columns, SIDE_SCHEMAS["snapshot_events"])
    track = _repeated(range(len(devices)), count)
    end_ns = int(times.max()) if len(times) else 0
    return DeviceEvents(frame, devices, track, has_times, end_ns), base_ns, blocks


def _repeated(values: Iterable[int], count: Int64) -> Int32:
    """Each value so many times. Zeros that nobody writes to take no memory."""
    column = np.zeros(int(count.sum()), np.int32)
    end = 0
    for value, size in zip(values, count.tolist(), strict=True):
        end += size
        if value:
            column[end - size : end] = value
    return column


def _of_ooms(action: Int8, address: Int64) -> tuple[pl.Series, pl.Series]:
    """What was free on the device, of ``oom`` alone, and the addresses of all others."""
    is_oom = action == OOM
    if not is_oom.any():
        return pl.repeat(None, len(action), dtype=pl.Int64, eager=True), _nullable(address)
    return (
        _nullable(np.where(is_oom, address, ABSENT)), _nullable(np.where(is_oom, ABSENT, address))
    )  # fmt: skip


def _chosen(values: npt.NDArray[Any], rows: Int64 | slice) -> npt.NDArray[Any]:
    return values[rows]


def _rows_of(trace: Any) -> list[tuple[int, int]]:
    """The rows of the entries of one list, as stretches."""
    runs = [each for each in trace if isinstance(each, EntryRun)] if isinstance(trace, list) else []
    found: list[tuple[int, int]] = []
    for run in runs:
        if found and found[-1][1] == run.start:
            found[-1] = found[-1][0], run.end
        elif run.end > run.start:
            found.append((run.start, run.end))
    return found


def _order(stretches: list[tuple[int, int]]) -> Int64 | slice:
    """All rows of stretches in order, without an index where they follow each other."""
    if not stretches:
        return slice(0, 0)
    if all(left[1] == right[0] for left, right in itertools.pairwise(stretches)):
        return slice(stretches[0][0], stretches[-1][1])
    return np.concatenate([np.arange(*each) for each in stretches])


def _times(time_us: Int64, count: Int64) -> tuple[Int64, int, bool]:
    """Times in ns from a base, none before the one in front of it on its device: threads write
    down theirs a little out of order, and the order is what happened. Without times 1 us each."""
    known = (time_us > 0) & (time_us < MAX_TIME_US)
    starts = np.cumsum(count) - count
    if not known.any():
        within = np.arange(len(time_us)) - np.repeat(starts, count)
        return within * NS_PER_US, 0, False
    base_us = int(time_us[known].min()) // 10**6 * 10**6
    times = time_us - base_us
    times[~known] = 0
    times *= NS_PER_US
    for start, size in zip(starts.tolist(), count.tolist(), strict=True):
        part = times[start : start + size]
        np.maximum.accumulate(part, out=part)
    return times, base_us * NS_PER_US, True


def with_traced(
    blocks: pl.DataFrame, device: Int32, address: Int64, action: Int8, size: Int64
) -> pl.DataFrame:
    """``blocks`` with ``traced_bytes``: PyTorch's events tell what was asked for, others the size
    of the block. Which it is, the blocks tell whose last allocation is among the events.

    Args:
        blocks: Rows of ``snapshot_blocks`` without that column.
        device: Of each event, in order.
        address, action, size: Likewise.
    """
    telling = blocks.filter(
        pl.col("state") != "inactive", pl.col("size_bytes") != pl.col("requested_bytes")
    )
    known = np.unique(telling["address"].drop_nulls().to_numpy())
    rows = np.empty(0, np.int64)
    if len(known):
        rows = np.flatnonzero((action == ALLOC) & (size != ABSENT) & np.isin(address, known))
    last = pl.DataFrame(
        {"device": device[rows], "address": address[rows], "alloc_bytes": size[rows]},
        {"device": pl.Int32, "address": pl.Int64, "alloc_bytes": pl.Int64},
    ).unique(["device", "address"], keep="last", maintain_order=True)
    both = telling.join(last, on=["device", "address"])
    as_block, as_asked = (
        (both["alloc_bytes"] == both[name]).sum() for name in ("size_bytes", "requested_bytes")
    )
    of_block = pl.col("size_bytes")
    asked = pl.coalesce("requested_bytes", of_block)
    traced = of_block if as_block > as_asked else asked
    return blocks.with_columns(traced_bytes=traced).select(*SIDE_SCHEMAS["snapshot_blocks"])


def _sums(frame: pl.DataFrame, column: str) -> dict[int, int]:
    """Bytes per device."""
    return dict(frame.group_by("device").agg(pl.col(column).sum()).iter_rows())


def _walked(
    sign: Int8, size: Int64, ends: dict[int, int], count: Int64, final: dict[int, int]
) -> Int64:
    """The total after each event, so that the last one of each device is what there is in the
    end."""
    total: Int64 = sign * size
    total[size == ABSENT] = 0
    for (device, end), length in zip(ends.items(), count.tolist(), strict=True):
        part = total[end - length : end]
        np.cumsum(part, out=part)
        part += final.get(device, 0) - int(part[-1])
    return total


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
