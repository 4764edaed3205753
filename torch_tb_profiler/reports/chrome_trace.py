"""A trace, or a part of it, as Chrome JSON for Perfetto and other viewers, with GPU counters.

Written from the model, so every input format becomes readable there, nothing but known arguments
leaves, and names and arguments are those of Kineto: our own importer reads the result back.
Format: "Trace Event Format" (Google).

Events are made while they are sent: no more than :data:`EVENTS_AT_ONCE` are in memory, whatever
the trace holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import time_range
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.reports.chrome_counters import counter_events
from torch_tb_profiler.reports.chrome_header import chrome_header
from torch_tb_profiler.reports.chrome_slices import slice_events
from torch_tb_profiler.reports.chrome_tracks import ChromeTracks, Event
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

EVENTS_AT_ONCE = 20_000
"""Events of one piece."""

FLOWS_AT_ONCE = 10_000
"""Arrows whose ends are looked up at one time."""


def chrome_json(trace: Trace, selection: Selection) -> Iterator[bytes]:
    """The slices, arrows, memory events and counters that overlap ``selection``, piece by piece.

    Raises:
        SelectionError: the selection names steps the trace does not have (before the first piece).
    """
    windows = selected_windows(trace, selection)
    events = trace_events(trace, ChromeTracks(trace), windows)
    return document_pieces(chrome_header(trace.meta), events)


def selected_windows(trace: Trace, selection: Selection) -> tuple[Int64, Int64]:
    """Starts and ends, sorted and disjoint, of the time a selection is about; stretched steps.

    Raises:
        SelectionError: as :func:`analysis.selection.selected_steps`.
    """
    first, last = trace.meta.start_ns, trace.meta.end_ns + 1
    if selection.steps is None:
        start, end = np.array([first], np.int64), np.array([last], np.int64)
    else:
        windows = step_windows(trace, selection)
        start, end = windows.start_ns, windows.end_ns
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        start = np.maximum(start, first_ns)
    if last_ns is not None:
        end = np.minimum(end, last_ns)
    is_positive = end > start
    return start[is_positive], end[is_positive]


def document_pieces(
    header: Mapping[str, Any],
    events: Iterator[Event],
    footer: Callable[[], Mapping[str, Any]] = dict,
) -> Iterator[bytes]:
    """The document with the keys of ``header`` and the events, piece by piece.

    Args:
        header: Keys before the events.
        events: The events, made while they are sent.
        footer: Further keys, known after the last event.
    """
    yield msgspec.json.encode(header)[:-1] + b',"traceEvents":[\n'
    separator = b""
    while batch := list(islice(events, EVENTS_AT_ONCE)):
        yield separator + b",\n".join(map(msgspec.json.encode, batch))
        separator = b",\n"
    last = msgspec.json.encode(footer())[1:]
    yield b"\n]" + (b"," if len(last) > 1 else b"") + last + b"\n"


def trace_events(
    trace: Trace, tracks: ChromeTracks, windows: tuple[Int64, Int64]
) -> Iterator[Event]:
    """The events that overlap windows (starts and ends, sorted and disjoint)."""
    inside = _overlapping(trace.slices, windows)
    return chain(
        tracks.declarations(),
        slice_events(trace, tracks, np.flatnonzero(inside)),
        _flow_events(trace, tracks, inside),
        _memory_events(trace, tracks, windows),
        counter_events(trace, tracks, windows),
    )


def _overlapping(slices: pl.DataFrame, windows: tuple[Int64, Int64]) -> Bools:
    """Mask of the slices that share a moment with a window; those of no length lie in one."""
    start = slices["start_ns"].to_numpy()
    end = np.maximum(start + slices["dur_ns"].to_numpy(), start + 1)
    window = np.searchsorted(windows[1], start, side="right")  # first that ends after the start
    starts = np.append(windows[0], np.iinfo(np.int64).max)
    mask: Bools = starts[window] < end
    return mask


def _flow_events(trace: Trace, tracks: ChromeTracks, inside: Bools) -> Iterator[Event]:
    """Arrows from launches to their device work and from forward to backward operators, where both
    ends are ``inside`` (a mask of the slices)."""
    work = trace.device_work.select(source="launch", target="slice")
    backward = trace.operators.select(source="forward", target="slice")
    for category, pairs in (("ac2g", work), ("fwdbwd", backward)):
        ends = pairs.drop_nulls().to_numpy()
        ends = ends[inside[ends].all(axis=1)]
        for first in range(0, len(ends), FLOWS_AT_ONCE):
            part = ends[first : first + FLOWS_AT_ONCE]
            rows = trace.slices.select("track", "start_ns")[part.ravel()].iter_rows()
            for number, (track, start_ns) in enumerate(rows, 2 * first):
                pid, tid = tracks.ids[track]
                event: Event = {
                    "ph": "sf"[number % 2],
                    "cat": category,
                    "name": category,
                    "id": number // 2,
                    "pid": pid,
                    "tid": tid,
                    "ts": start_ns / NS_PER_US,
                }
                yield {**event, "bp": "e"} if number % 2 else event


def _memory_events(
    trace: Trace, tracks: ChromeTracks, windows: tuple[Int64, Int64]
) -> Iterator[Event]:
    names = {
        "device_type": "Device Type",
        "device": "Device Id",
        "address": "Addr",
        "bytes": "Bytes",
        "total_allocated_bytes": "Total Allocated",
        "total_reserved_bytes": "Total Reserved",
    }
    instants = trace.memory.with_columns(start_ns=pl.col("time_ns"), dur_ns=pl.lit(0, pl.Int64))
    inside = instants.filter(pl.Series(_overlapping(instants, windows)))
    for row in inside.iter_rows(named=True):
        pid, tid = tracks.ids[row["track"]]
        known = {name: row[column] for column, name in names.items() if row[column] is not None}
        yield {
            "ph": "i",
            "s": "t",
            "name": "[OutOfMemory]" if row["is_oom"] else "[memory]",
            "pid": pid,
            "tid": tid,
            "ts": row["time_ns"] / NS_PER_US,
            "args": known,
        }
