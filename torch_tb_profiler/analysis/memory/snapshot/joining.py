"""Joins a memory snapshot to a trace of the same process.

Definitions: ``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import ALLOC, side_frame
from torch_tb_profiler.analysis.memory.snapshot.matching import (
    AllocationMatch,
    Allocations,
    match_allocations,
)
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.trace.columns import EPOCH_NS, Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

TABLES = tuple(name for name in SIDE_SCHEMAS if name.startswith("snapshot_"))
JOIN = "snapshot_join"

MAX_OFFSET_NS = 10 * 10**9
"""Both clocks count from 1970; they differ by less, or the recordings are of different runs."""

MIN_SHARE = 0.5
"""Of the allocations in the time that both recorded so many must match."""

MIN_MATCHES = 10


class OwnAllocations(NamedTuple):
    """The allocations of accelerators in a trace, and their rows in ``memory_records``."""

    record: Int64
    allocations: Allocations


class EventAllocations(NamedTuple):
    """The allocations of accelerators in a snapshot, and their rows in ``snapshot_events``."""

    event: Int64
    allocations: Allocations


def own_allocations(trace: Trace) -> OwnAllocations:
    """The allocations of accelerators that a trace recorded."""
    records = memory_records(trace)
    memory = trace.memory.filter(trace.memory["is_oom"].fill_null(0) != 1)
    of_host = np.array([device.type == CPU_TYPE for device in records.devices] or [True], np.bool_)
    usable = memory["address"].is_not_null().to_numpy() & (records.size_bytes > 0)
    rows = np.flatnonzero(usable & ~of_host[records.device] if len(usable) else usable)
    address = memory["address"].gather(rows).to_numpy()
    return OwnAllocations(
        rows, Allocations(address, records.size_bytes[rows], records.time_ns[rows])
    )


def event_allocations(snapshot: Trace) -> EventAllocations:
    """The allocations of accelerators that a snapshot recorded."""
    events = side_frame(snapshot, "snapshot_events")
    chosen = (pl.col("action") == ALLOC) & (pl.col("device") >= 0)
    chosen &= pl.col("address").is_not_null() & pl.col("size_bytes").is_not_null()
    rows = events.with_row_index("event").filter(chosen)
    columns = (rows[name].to_numpy() for name in ("address", "size_bytes", "time_ns"))
    return EventAllocations(rows["event"].cast(pl.Int64).to_numpy(), Allocations(*columns))


def join_snapshot(trace: Trace, snapshot: Trace, name: str) -> Trace | str:
    """``trace`` with the snapshot's tables on its clock; else the reason why it is not joined.

    Args:
        trace: A trace.
        snapshot: A memory snapshot.
        name: Its file.
    """
    if snapshot.quality.counts.get("snapshot_without_times"):
        return "the snapshot has no times"
    if min(trace.meta.base_ns, snapshot.meta.base_ns) < EPOCH_NS:
        return "the trace or the snapshot does not count from 1970"
    shift = snapshot.meta.base_ns - trace.meta.base_ns
    times = side_frame(snapshot, "snapshot_events")["time_ns"].to_numpy() + shift
    if not len(times):
        return "the snapshot has no events"
    own, other = own_allocations(trace), event_allocations(snapshot)
    offset, residual = 0, None
    if len(own.record):
        moved = replace(other.allocations, time_ns=other.allocations.time_ns + shift)
        match = (
            match_allocations(own.allocations, moved, MAX_OFFSET_NS) if len(other.event) else None
        )
        reason = _refusal(own.allocations, moved, match)
        if match is None or reason is not None:
            return reason or "no allocation of the trace is in the snapshot"
        offset, residual = match.offset_ns, match.residual_ns
    if times.max() + offset < trace.meta.start_ns or times.min() + offset > trace.meta.end_ns:
        return "the snapshot was recorded at another time"
    return _with_tables(trace, snapshot, name, shift + offset, (offset, residual))


def _refusal(own: Allocations, other: Allocations, match: AllocationMatch | None) -> str | None:
    """Why allocations do not match well enough; None where they do."""
    if match is None:
        return None
    mine, theirs = in_common(own.time_ns, other.time_ns + match.offset_ns)
    count, least = len(match.own), min(int(mine.sum()), int(theirs.sum()))
    if count >= max(MIN_SHARE * least, min(MIN_MATCHES, least)):
        return None
    return (
        f"of the {least:,} allocations of the time that both recorded {count:,} have the same "
        "address and size: it is of another process"
    )


def in_common(own_ns: Int64, other_ns: Int64) -> tuple[Bools, Bools]:
    """Which times of each of two recordings lie in the time that both cover."""
    begin = max(int(own_ns.min()), int(other_ns.min()))
    end = min(int(own_ns.max()), int(other_ns.max()))
    masks = [(times >= begin) & (times <= end) for times in (own_ns, other_ns)]
    return masks[0], masks[1]


def _with_tables(
    trace: Trace, snapshot: Trace, name: str, shift_ns: int, clock: tuple[int, int | None]
) -> Trace:
    frames = {table: side_frame(snapshot, table) for table in TABLES if table in snapshot.side}
    events = frames["snapshot_events"]
    frames["snapshot_events"] = events.with_columns(pl.col("time_ns") + shift_ns)
    frames[JOIN] = pl.DataFrame([(name, *clock)], SIDE_SCHEMAS[JOIN], orient="row")
    tables = {table: SideTable(table, name, frame) for table, frame in frames.items()}
    return replace(trace, side={**trace.side, **tables})
