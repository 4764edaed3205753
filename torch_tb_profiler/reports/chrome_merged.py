"""Several ranks of a run as one Chrome JSON: a process per rank, all on one clock.

Written one rank after the other: no more than one trace is needed at a time. Process ids count from
1, thread ids are unique in the file, and numbers that link events (correlations, flows, Python
frames, devices) are moved so that those of two ranks never meet. The clocks are those of
``analysis.communication.clocks``; a rank that nothing connects with the first one is written by
its recorded clock, and its process says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.reports.chrome_header import chrome_header
from torch_tb_profiler.reports.chrome_trace import (
    document_pieces,
    selected_windows,
    trace_events,
)
from torch_tb_profiler.reports.chrome_tracks import ChromeTracks, Event, ProcessAndThread
from torch_tb_profiler.requests.merge import Merge, MergedRank
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

FIRST_THREAD = 1_000_000
"""Thread ids count from here: none is a process id, which viewers take for the main thread."""

LARGEST_ID = 2**40
"""Larger numbers are addresses or hashes, which link nothing, and stay as they are."""

LINKS = {
    "correlation": ("slices", "correlation"),
    "External id": ("slices", "external_id"),
    "Sequence number": ("operators", "sequence_number"),
    "Record function id": ("operators", "record_function_id"),
    "Python id": ("python", "python_id"),
    "Python parent id": ("python", "python_id"),
    "Python module id": ("python", "module_id"),
    "graph id": ("device_work", "graph"),
    "graph node id": ("device_work", "graph_node"),
}
"""Argument that links events of one rank → table and column that say which numbers it uses."""

DEVICES = ("device", "Device Id")
"""Arguments that are numbers of devices."""


class _Numbers:
    """The first free number of each kind while ranks are written."""

    def __init__(self) -> None:
        self.thread = FIRST_THREAD
        self.flow = 0
        self.device = 0
        self.links = dict.fromkeys(LINKS, 0)

    def devices(self, trace: Trace) -> dict[int, int]:
        """Number of each device of a trace that is in use → its number here."""
        used = pl.concat([trace.devices["device"], trace.memory["device"]]).drop_nulls()
        numbers = used.filter(used >= 0).unique().sort().to_list()
        return {own: self.device + order for order, own in enumerate(numbers)}

    def advance(self, trace: Trace, tracks: ChromeTracks) -> None:
        """Leave the numbers of a rank behind."""
        self.thread += len(tracks.ids)
        self.flow += trace.device_work.height + trace.operators.height
        self.device += len(self.devices(trace))
        # Parents and frames count together.
        for name, (table, column) in LINKS.items():
            self.links[name] += _highest(getattr(trace, table)[column]) + 1


class _RankTracks(ChromeTracks):
    """All tracks of a trace as threads of one process."""

    def __init__(
        self,
        trace: Trace,
        pid: int,
        rank: MergedRank,
        first_thread: int,
        device_numbers: Mapping[int, int],
    ) -> None:
        super().__init__(trace)
        self._pid, self._rank, self._device_numbers = pid, rank, device_numbers
        self.ids: dict[int, ProcessAndThread] = {
            row["track"]: (pid, first_thread + order) for order, row in enumerate(self._rows)
        }

    def process_of(self, device: int) -> int | str:  # noqa: ARG002 - all are of the rank
        return self._pid

    def number_of(self, device: int) -> int:
        return self._device_numbers.get(device, device)

    def declarations(self) -> Iterator[Event]:
        """Name and order of the process and its threads."""
        process = {
            "process_name": {"name": _title(self._rank)},
            "process_labels": {"labels": _clock_label(self._rank)},
            "process_sort_index": {"sort_index": self._pid},
        }
        for name, args in process.items():
            yield {"ph": "M", "name": name, "pid": self._pid, "tid": 0, "args": args}
        for order, row in enumerate(self._rows):
            pid, tid = self.ids[row["track"]]
            thread = row["thread_name"] or f"thread {row['tid']}"
            if row["is_device"] and row["device"] is not None:
                thread = f"GPU {self.number_of(row['device'])} {thread}"
            names = {
                "thread_name": {"name": thread},
                "thread_sort_index": {"sort_index": order},
            }
            for name, args in names.items():
                yield {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def merged_json(merge: Merge) -> Iterator[bytes]:
    """The selected part of every rank, piece by piece.

    Raises:
        LoadingError: a trace cannot be read, while the pieces are made.
    """
    ranks = merge.ranks
    starts = (each.meta.start_ns + each.offset_at(each.meta.start_ns) for each in ranks)
    origin_ns = math.floor(min(starts))
    devices: list[dict[str, Any]] = []
    events = _events(merge, origin_ns, devices)
    return document_pieces(_header(ranks, origin_ns), events, lambda: {"deviceProperties": devices})


def _events(merge: Merge, origin_ns: int, devices: list[dict[str, Any]]) -> Iterator[Event]:
    """The events of all ranks; fills ``devices`` with the described devices under the numbers that
    they have here."""
    numbers = _Numbers()
    for pid, rank in enumerate(merge.ranks, 1):
        trace = merge.open_trace(rank.worker)
        device_numbers = numbers.devices(trace)
        tracks = _RankTracks(trace, pid, rank, numbers.thread, device_numbers)
        try:
            windows = selected_windows(trace, _on_clock(merge.selection, rank))
        except SelectionError:
            yield from tracks.declarations()
        else:
            for event in trace_events(trace, tracks, windows):
                if "ts" in event:
                    time_ns = event["ts"] * NS_PER_US
                    event["ts"] += (rank.offset_at(time_ns) - origin_ns) / NS_PER_US
                yield _with_own_numbers(event, numbers, device_numbers)
        devices += [
            {**device, "id": device_numbers[device["id"]]}
            for device in chrome_header(trace.meta).get("deviceProperties", ())
            if device["id"] in device_numbers
        ]
        numbers.advance(trace, tracks)


def _on_clock(selection: Selection, rank: MergedRank) -> Selection:
    """A selection in times of the reference as one in times of a rank."""
    start_ns, end_ns = (
        None if time_ns is None else round(time_ns - rank.offset_at(time_ns - rank.offset_ns))
        for time_ns in (selection.start_ns, selection.end_ns)
    )
    return Selection(
        steps=selection.steps,
        start_ns=start_ns,
        end_ns=end_ns,
        iterations_by=selection.iterations_by,
    )


def _with_own_numbers(event: Event, numbers: _Numbers, devices: Mapping[int, int]) -> Event:
    """The event with numbers of its rank alone."""
    if event["ph"] in "sf":
        event["id"] += numbers.flow
    args = event.get("args")
    if not args or event["ph"] not in "Xi":
        return event
    renumbered = dict(args)
    for name, first in numbers.links.items():
        value = renumbered.get(name)
        if isinstance(value, int) and 0 <= value < LARGEST_ID:
            renumbered[name] = value + first
    for name in DEVICES:
        if name in renumbered:
            renumbered[name] = devices.get(renumbered[name], renumbered[name])
    return {**event, "args": renumbered}


def _header(ranks: Sequence[MergedRank], origin_ns: int) -> dict[str, Any]:
    """As of the first rank, without what is of that rank alone; and who is which process."""
    header = chrome_header(ranks[0].meta)
    header.pop("deviceProperties", None)
    distributed = header.get("distributedInfo")
    if distributed is not None:
        distributed.pop("rank", None)
    header["baseTimeNanoseconds"] = ranks[0].meta.base_ns + origin_ns
    header["mergedRanks"] = [
        {
            "pid": pid,
            "worker": each.worker,
            "rank": each.rank,
            "clock_offset_ns": each.offset_ns,
            "clock_drift_ppm": each.drift * 1e6,
            "clock_uncertainty_ns": each.uncertainty_ns,
            "clock_aligned": each.is_aligned,
        }
        for pid, each in enumerate(ranks, 1)
    ]
    return header


def _highest(column: pl.Series) -> int:
    """The highest number that links events, -1 without any."""
    value = column.filter((column >= 0) & (column < LARGEST_ID)).max()
    return int(value) if isinstance(value, int) else -1


def _title(rank: MergedRank) -> str:
    return rank.worker if rank.rank is None else f"rank {rank.rank} ({rank.worker})"


def _clock_label(rank: MergedRank) -> str:
    if rank.is_reference:
        return "reference clock"
    if not rank.is_aligned:
        return "clock not aligned"
    if rank.uncertainty_ns is None:
        return "clock aligned"
    return f"clock aligned, ± {rank.uncertainty_ns / NS_PER_US:.3g} µs (est.)"
