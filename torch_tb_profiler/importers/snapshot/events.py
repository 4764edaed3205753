"""Allocator events per device: their times, and the totals after each event."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.snapshot.entries import Entries, EntryRun
from torch_tb_profiler.trace.columns import ABSENT, MEMORY_COLUMNS, ColumnArrays, Int8, Int32, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SNAPSHOT_ACTIONS

CUDA, CPU = 1, 0
"""c10::DeviceType; snapshots of other devices do not record the type."""

NS_PER_US = 1000
NS_PER_S = 10**9
MAX_TIME_US = 2**52
MAX_TOTAL_BYTES = 2**60
"""Sums and differences of such totals are 64-bit integers."""

HOST = -1

_CODE = {action: code for code, action in enumerate(SNAPSHOT_ACTIONS)}
ALLOC, FREE, OOM = _CODE["alloc"], _CODE["free_completed"], _CODE["oom"]
_ALLOCATED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int8)
_ALLOCATED[[ALLOC, FREE]] = 1, -1
_RESERVED = np.zeros(len(SNAPSHOT_ACTIONS) + 1, np.int8)
_RESERVED[[_CODE["segment_alloc"], _CODE["segment_map"]]] = 1
_RESERVED[[_CODE["segment_free"], _CODE["segment_unmap"]]] = -1
"""Sign of an action; the last item is that of unknown actions."""


class DeviceEvents(Struct, frozen=True):
    """The events of all devices.

    Attributes:
        frame: The side table ``snapshot_events``.
        devices: The devices with events, in order.
        track: Per event, the index of its device in ``devices``.
        has_times: Whether the events have times.
        lifted: Devices whose totals are higher than their final blocks and segments say.
        end_ns: Time of the last event.
        entries: Per event, the row of its entry.
    """

    frame: pl.DataFrame
    devices: list[int]
    track: Int32
    has_times: bool
    lifted: int
    end_ns: int
    entries: Int64 | slice

    @property
    def size(self) -> int:
        """Number of events."""
        return self.frame.height


def events_of(
    traces: Mapping[int, Any], entries: Entries, segments: pl.DataFrame, blocks: pl.DataFrame
) -> tuple[DeviceEvents, int, pl.DataFrame]:
    """Build the events of all devices.

    The totals are anchored at the final state of the segments and computed backwards, so that
    memory allocated before the first recorded event is included. Where that leads below zero the
    file lacks blocks or segments: the least that the events say is added.

    Args:
        traces: Device → its list in the file.
        entries: All entries.
        segments: The final segments, ``snapshot_segments``.
        blocks: The final blocks, ``snapshot_blocks`` without ``traced_bytes``.

    Returns:
        The events, their base in nanoseconds since the epoch, and the blocks with
        ``traced_bytes``.
    """
    ranges = {device: _row_ranges(trace) for device, trace in traces.items()}
    ranges = {device: of_device for device, of_device in ranges.items() if of_device}
    devices = sorted(ranges)
    order = _order([each for device in devices for each in ranges[device]])
    count = np.array([sum(b - a for a, b in ranges[device]) for device in devices], np.int64)
    times, base_ns, has_times = _times(_select(entries.time_us, order), count)
    action, size = _select(entries.action, order), _possible(_select(entries.size, order))
    ends = dict(zip(devices, np.cumsum(count).tolist(), strict=True))
    address = _select(entries.address, order)
    device = _repeated(devices, count)
    blocks = with_traced_bytes(blocks, device, address, action, size)
    in_use = blocks.filter(pl.col("state") != "inactive")
    final = {"allocated": _sums(in_use, "traced_bytes"), "reserved": _sums(segments, "total_bytes")}
    totals, lifted = {}, set()
    for name, sign in (("allocated", _ALLOCATED), ("reserved", _RESERVED)):
        totals[name], devices_lifted = _running_totals(sign[action], size, ends, count, final[name])
        lifted |= devices_lifted
    stream = _select(entries.stream, order)
    free, addresses = _split_ooms(action, address)
    columns: dict[str, pl.Series | np.ndarray[Any, Any]] = {
        "device": device,
        "action": action,
        "address": addresses,
        "size_bytes": _nullable(size),
        "stream": _nullable(stream) if stream.any() else np.zeros(len(stream), np.int64),
        "time_ns": times,
        "stack": _select(entries.stack, order),
        "device_free_bytes": free,
        "allocated_bytes": totals["allocated"],
        "reserved_bytes": totals["reserved"],
    }
    frame = pl.DataFrame(columns, SIDE_SCHEMAS["snapshot_events"])
    track = _repeated(range(len(devices)), count)
    end_ns = int(times.max()) if len(times) else 0
    events = DeviceEvents(frame, devices, track, has_times, len(lifted), end_ns, order)
    return events, base_ns, blocks


def _repeated(values: Iterable[int], count: Int64) -> Int32:
    """Repeat each value. Untouched pages of zeros take no memory."""
    column = np.zeros(int(count.sum()), np.int32)
    end = 0
    for value, size in zip(values, count.tolist(), strict=True):
        end += size
        if value:
            column[end - size : end] = value
    return column


def _split_ooms(action: Int8, address: Int64) -> tuple[pl.Series, pl.Series]:
    """The free bytes of ``oom`` events, and the addresses of all other events."""
    is_oom = action == OOM
    if not is_oom.any():
        return pl.repeat(None, len(action), dtype=pl.Int64, eager=True), _nullable(address)
    return (
        _nullable(np.where(is_oom, address, ABSENT)), _nullable(np.where(is_oom, ABSENT, address))
    )  # fmt: skip


def _possible(size: Int64) -> Int64:
    """The sizes; those that are none, or are too large to be added up, are absent."""
    most = MAX_BYTES
    if float(np.abs(size[size != ABSENT].astype(np.float64)).sum()) > MAX_TOTAL_BYTES:
        most = MAX_TOTAL_BYTES // len(size)
    is_damaged = (size < 0) | (size > most)
    return np.where(is_damaged, ABSENT, size) if is_damaged.any() else size


def _select(values: npt.NDArray[Any], rows: Int64 | slice) -> npt.NDArray[Any]:
    return values[rows]


def _row_ranges(trace: Any) -> list[tuple[int, int]]:
    """The rows of the entries of one list, as merged ranges."""
    runs = [each for each in trace if isinstance(each, EntryRun)] if isinstance(trace, list) else []
    ranges: list[tuple[int, int]] = []
    for run in runs:
        if ranges and ranges[-1][1] == run.start:
            ranges[-1] = ranges[-1][0], run.end
        elif run.end > run.start:
            ranges.append((run.start, run.end))
    return ranges


def _order(ranges: list[tuple[int, int]]) -> Int64 | slice:
    """All rows of the ranges in order, as a slice if they are contiguous."""
    if not ranges:
        return slice(0, 0)
    if all(left[1] == right[0] for left, right in itertools.pairwise(ranges)):
        return slice(ranges[0][0], ranges[-1][1])
    return np.concatenate([np.arange(*each) for each in ranges])


def _times(time_us: Int64, count: Int64) -> tuple[Int64, int, bool]:
    """Times in nanoseconds from a base, monotonic per device.

    Threads record their times slightly out of order; the order of events is the real one. Without
    times, events are 1 us apart.

    Returns:
        The times, the base in nanoseconds since the epoch, and whether times are recorded.
    """
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


def with_traced_bytes(
    blocks: pl.DataFrame, device: Int32, address: Int64, action: Int8, size: Int64
) -> pl.DataFrame:
    """``blocks`` with ``traced_bytes``, their size as events record it.

    PyTorch's events have the requested size, those of other allocators the size of the block. The
    blocks whose last allocation is among the events decide which one it is.

    Args:
        blocks: Rows of ``snapshot_blocks`` without that column.
        device, address, action, size: Columns of the events, in order.
    """
    rounded = blocks.filter(
        pl.col("state") != "inactive", pl.col("size_bytes") != pl.col("requested_bytes")
    )
    known = np.unique(rounded["address"].drop_nulls().to_numpy())
    rows = np.empty(0, np.int64)
    if len(known):
        rows = np.flatnonzero((action == ALLOC) & (size != ABSENT) & np.isin(address, known))
    last = pl.DataFrame(
        {"device": device[rows], "address": address[rows], "alloc_bytes": size[rows]},
        {"device": pl.Int32, "address": pl.Int64, "alloc_bytes": pl.Int64},
    ).unique(["device", "address"], keep="last", maintain_order=True)
    both = rounded.join(last, on=["device", "address"])
    block_matches, requested_matches = (
        (both["alloc_bytes"] == both[name]).sum() for name in ("size_bytes", "requested_bytes")
    )
    block = pl.col("size_bytes")
    requested = pl.coalesce("requested_bytes", block)
    traced = block if block_matches > requested_matches else requested
    return blocks.with_columns(traced_bytes=traced).select(*SIDE_SCHEMAS["snapshot_blocks"])


def _sums(frame: pl.DataFrame, column: str) -> dict[int, int]:
    """Bytes per device, at most :data:`MAX_TOTAL_BYTES`; sizes that are none do not count."""
    size = pl.col(column).filter(pl.col(column).is_between(0, MAX_BYTES))
    total = size.cast(pl.Float64).sum().clip(0, MAX_TOTAL_BYTES)
    return dict(frame.group_by("device").agg(total.cast(pl.Int64)).iter_rows())


def _running_totals(
    sign: Int8, size: Int64, ends: dict[int, int], count: Int64, final: dict[int, int]
) -> tuple[Int64, set[int]]:
    """The total after each event, and the devices whose totals are lifted.

    The last total of a device equals its final one; lifted, it is as much higher as no total is
    below zero.
    """
    lifted = set()
    total: Int64 = sign * size
    total[size == ABSENT] = 0
    for (device, end), length in zip(ends.items(), count.tolist(), strict=True):
        part = total[end - length : end]
        first = int(part[0])
        np.cumsum(part, out=part)
        part += final.get(device, 0) - int(part[-1])
        lowest = min(int(part.min()), int(part[0]) - first)
        if lowest < 0:
            part -= lowest
            lifted.add(device)
    return total, lifted


def _nullable(values: Int64) -> pl.Series:
    series = pl.Series(values)
    absent = values == ABSENT
    if not absent.any():
        return series
    return series.set(pl.Series(absent), None)


def memory_table(events: DeviceEvents) -> ColumnArrays:
    """The allocations, frees and out-of-memory events as rows of ``memory``."""
    action = events.frame["action"].to_numpy()
    rows = np.flatnonzero((action == ALLOC) | (action == FREE) | (action == OOM))
    action = action[rows]

    def column(name: str, absent: int = 0) -> npt.NDArray[Any]:
        return events.frame[name].gather(rows).fill_null(absent).to_numpy()

    size, device = column("size_bytes"), column("device")
    columns: ColumnArrays = {
        "track": events.track[rows],
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
