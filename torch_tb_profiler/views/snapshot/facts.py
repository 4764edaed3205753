"""The figures of a snapshot, and what to do where memory ran out."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import BEFORE, lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments, label_of
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Fact, Note, Table
from torch_tb_profiler.views.snapshot.columns import DEVICES

_SHOWN = (
    "reserved_bytes", "allocated_bytes", "inactive_bytes", "largest_free_bytes",
    "fragmentation_pct", "peak_allocated_bytes", "ooms",
)  # fmt: skip
_GIB, _MIB = 2**30, 2**20

EXPANDABLE = "expandable_segments"


def snapshot_facts(trace: Trace, devices: Table) -> tuple[Fact, ...]:
    """The main columns of the devices as facts, and what asked for memory that there was not."""
    columns = {column.key: column for column in DEVICES.columns}
    facts = [
        Fact(
            "origin_us", "Start of the recording", trace.meta.start_ns / NS_PER_US, "us", None,
            "Trace time of 0 in this view: add it to a time here to get at_us.",
        )
    ]  # fmt: skip
    for row in devices.frame.iter_rows(named=True):
        for key in _SHOWN:
            column = columns[key]
            reason = None if row[key] is not None else devices.null_reasons.get(key)
            facts.append(
                Fact(key, column.title, row[key], column.unit, row["device"], column.help, reason)
            )
    events = side_frame(trace, "snapshot_events")
    for moments in device_moments(trace):
        if moments.ooms:
            failed = events.row(moments.ooms[-1], named=True)
            facts += _oom_facts(failed, label_of(moments.device), trace.meta.start_ns)
    return tuple(facts)


def _oom_facts(failed: dict[str, int | None], device: str, start_ns: int) -> list[Fact]:
    """The last allocation that failed on a device."""
    unused = _unused(failed)
    time_ns = failed["time_ns"] or 0
    return [
        Fact("oom_us", "Ran out of memory at", (time_ns - start_ns) / NS_PER_US, "us", device,
             "When an allocation last failed, since the start of the recording."),
        Fact("oom_requested_bytes", "Requested", failed["size_bytes"], "bytes", device,
             "Size of the failed allocation.", _missing_reason(failed["size_bytes"])),
        Fact("oom_free_bytes", "Free on the device", failed["device_free_bytes"], "bytes", device,
             "Free memory of the device at that moment.",
             _missing_reason(failed["device_free_bytes"])),
        Fact("oom_unused_bytes", "Reserved but unused", unused, "bytes", device,
             "Memory reserved by the allocator at that moment and not in use."),
    ]  # fmt: skip


def _missing_reason(value: int | None) -> str | None:
    return None if value is not None else "Not in the snapshot."


def _unused(failed: dict[str, int | None]) -> int:
    return (failed["reserved_bytes"] or 0) - (failed["allocated_bytes"] or 0)


def snapshot_notes(trace: Trace) -> list[Note]:
    """What an expert would say of the snapshot first."""
    events = side_frame(trace, "snapshot_events")
    notes = []
    for moments in device_moments(trace):
        if moments.ooms:
            failed = events.row(moments.ooms[-1], named=True)
            notes.append(_oom_note(trace, label_of(moments.device), failed, len(moments.ooms)))
    older = lifetimes(trace).born == BEFORE
    if events.height and older.any():
        size = int(lifetimes(trace).size_bytes[older].sum())
        text = (
            f"{int(older.sum()):,} blocks ({_size(size)}) were allocated before the first event "
            "in the snapshot: recording began later, or the ring of max_entries events was full."
        )
        evidence: dict[str, object] = {"count": int(np.count_nonzero(older)), "bytes": size}
        notes.append(Note("quality", "snapshot_begins_late", "info", text, evidence))
    return notes


def _oom_note(trace: Trace, device: str, failed: dict[str, int | None], count: int) -> Note:
    """Whether fragmentation or need made an allocation fail."""
    requested, unused = failed["size_bytes"] or 0, _unused(failed)
    settings = side_frame(trace, "snapshot_settings")
    is_expandable = settings.filter(
        (pl.col("setting") == EXPANDABLE) & (pl.col("value") == "True")
    ).height
    text = (
        f"{device} ran out of memory {'once' if count == 1 else f'{count} times'}; the last "
        f"request was for {_size(requested)}, with {_size(failed['allocated_bytes'] or 0)} in "
        f"use and {_size(unused)} reserved but unused."
    )
    if unused < requested:
        text += (
            " The unused memory would not have been enough even in one piece: the table 'Memory "
            "by call stack' shows who held the memory at that moment."
        )
    elif is_expandable:
        text += (
            " The unused memory is fragmented: in one piece it would have been enough. Fewer "
            "different block sizes leave fewer gaps."
        )
    else:
        text += (
            " The unused memory is fragmented: in one piece it would have been enough. "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead."
        )
    evidence: dict[str, object] = {
        "device": device, "count": count, "requested_bytes": requested, "unused_bytes": unused,
        "device_free_bytes": failed["device_free_bytes"],
    }  # fmt: skip
    return Note("advice", "snapshot_out_of_memory", "warning", text, evidence)


def _size(value: int) -> str:
    unit, name = (_GIB, "GiB") if value >= _GIB else (_MIB, "MiB")
    return f"{value / unit:,.2f} {name}"
