"""Which events belong to a part of a recording.

A slice belongs to a part that it overlaps, and stays whole. Events without a duration belong to it
by their time. Where steps are named, work of the devices that their calls launched belongs to them
however late it runs, up to the end of the next step.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.parts import END_NS, RecordingPart, seconds_text
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    Bools,
    ColumnArrays,
    EventColumns,
    Int32,
    Int64,
    Track,
)

NS_PER_US = 1000

_STEP_NUMBER = re.compile(r".*#(\d{1,18})", re.ASCII | re.DOTALL)


class Window(Struct, frozen=True):
    """A part as times, in ns as in the file.

    Attributes:
        start_ns: Its start.
        end_ns: Its end, not included.
        device_end_ns: Until then work belongs to it that its calls launched.
    """

    start_ns: int
    end_ns: int
    device_end_ns: int

    def overlaps(self, start_ns: Int64, dur_ns: Int64) -> Bools:
        """Which slices overlap it; one without a duration by its start."""
        after = start_ns + np.maximum(dur_ns, 0) > self.start_ns
        result: Bools = (start_ns < self.end_ns) & (after | (start_ns == self.start_ns))
        return result

    def holds(self, time_ns: Int64) -> Bools:
        """Which times lie in it."""
        result: Bools = (time_ns >= self.start_ns) & (time_ns < self.end_ns)
        return result

    def shifted(self, by_ns: int) -> Window:
        """The same window where times count from ``by_ns``."""
        return Window(self.start_ns - by_ns, self.end_ns - by_ns, self.device_end_ns - by_ns)


class StepTime(Struct, frozen=True):
    """A recorded step: its number, and its time on the host in ns as in the file."""

    number: int
    start_ns: int
    end_ns: int


class RecordedTimes(Struct, frozen=True):
    """The times that a part is looked up in.

    Attributes:
        first_ns: Start of the first slice, in ns as in the file.
        last_ns: End of the last slice.
        steps: The recorded steps.
    """

    first_ns: int
    last_ns: int
    steps: tuple[StepTime, ...]

    def shifted(self, by_ns: int) -> RecordedTimes:
        """First and last where times count from ``by_ns``; without the steps."""
        return RecordedTimes(self.first_ns - by_ns, self.last_ns - by_ns, ())

    def window(self, part: RecordingPart, name: str) -> Window:
        """The times of a part.

        Args:
            part: The part.
            name: The file, in messages.

        Raises:
            TraceFormatError: there is no such step, or the recording ends before.
        """
        if part.unit == "us":
            start_ns = self.first_ns + part.first
            end_ns = min(self.first_ns + part.last, END_NS)
            if start_ns > self.last_ns:
                lasts_us = (self.last_ns - self.first_ns) / NS_PER_US
                raise TraceFormatError(
                    "no_such_part",
                    f"{name} ends before the part: it lasts {lasts_us:,.0f} µs.",
                    "Times count from its first event, in microseconds.",
                )
            return Window(start_ns, end_ns, end_ns)
        chosen = [step for step in self.steps if part.first <= step.number <= part.last]
        if not chosen:
            raise _no_such_step(self.steps, name)
        start_ns = min(step.start_ns for step in chosen)
        end_ns = max(step.end_ns for step in chosen)
        later = [step for step in self.steps if step.start_ns >= end_ns]
        next_step = min(later, key=lambda step: step.start_ns, default=None)
        return Window(start_ns, end_ns, END_NS if next_step is None else next_step.end_ns)


def _no_such_step(steps: tuple[StepTime, ...], name: str) -> TraceFormatError:
    if not steps:
        return TraceFormatError(
            "no_such_part",
            f"{name} records no steps (ProfilerStep#N), so none can be chosen.",
            "Choose a part by its time: --only-us START:END.",
        )
    numbers = [step.number for step in steps]
    return TraceFormatError(
        "no_such_part",
        f"{name} has no such step: its steps are {min(numbers)} to {max(numbers)}.",
        "Name steps by their numbers, such as --only-steps "
        f"{min(numbers)}:{min(min(numbers) + 2, max(numbers))}.",
    )


def step_times(slices: ColumnArrays, strings: list[str]) -> list[StepTime]:
    """The recorded steps among slices, of which the columns ``category``, ``name_code``,
    ``start_ns`` and ``dur_ns`` are needed."""
    steps = []
    for row in np.flatnonzero(slices["category"] == Category.STEP).tolist():
        match = _STEP_NUMBER.fullmatch(strings[slices["name_code"][row]])
        start_ns, dur_ns = int(slices["start_ns"][row]), int(slices["dur_ns"][row])
        if match is not None:
            steps.append(StepTime(int(match[1]), start_ns, start_ns + max(dur_ns, 0)))
    return steps


def cut_to_part(columns: EventColumns, part: RecordingPart, name: str) -> EventColumns:
    """The part of a recording that was read whole.

    Raises:
        TraceFormatError: it has no such part.
    """
    slices = columns.tables["slices"]
    ends_ns = slices["start_ns"] + np.maximum(slices["dur_ns"], 0)
    times = RecordedTimes(
        int(slices["start_ns"].min(initial=END_NS)),
        int(ends_ns.max(initial=0)),
        tuple(step_times(slices, columns.strings)),
    )
    return cut(columns, times.window(part, name), times, name)


def cut(columns: EventColumns, window: Window, times: RecordedTimes, name: str) -> EventColumns:
    """The events of a window; what it is, is added to the quality report.

    Args:
        columns: The events; consumed.
        window: The window, in the times of ``columns``.
        times: Those of the whole recording, in the same times.
        name: The file, in messages.

    Raises:
        TraceFormatError: the window is empty.
    """
    slices = columns.tables["slices"]
    start_ns, dur_ns = slices["start_ns"], slices["dur_ns"]
    is_selected = window.overlaps(start_ns, dur_ns)
    if window.device_end_ns > window.end_ns:
        is_selected |= _launched_later(slices, is_selected, window)
    tables = {
        table: select_rows(table, rows, is_selected, window)
        for table, rows in columns.tables.items()
    }
    if not any(len(next(iter(table.values()))) for table in tables.values()):
        raise TraceFormatError(
            "no_such_part", f"{name} has no events in the part.", "Choose another or a longer one."
        )
    at_edges = is_selected & ((start_ns < window.start_ns) | (start_ns + dur_ns > window.end_ns))
    columns.quality.add("part_read", 1, _described(window, times))
    columns.quality.add("part_edges", int(at_edges.sum()))
    _renumber_links(columns, is_selected)
    _clip_spans(tables["slices"], window)
    tracks = used_tracks(tables, columns.tracks)
    return replace(columns, tables=tables, tracks=tracks)


def keep_slices(columns: EventColumns, is_selected: Bools) -> None:
    """Leave out all slices but the selected ones, with their details and links, in place."""
    for table in columns.tables.values():
        of_slice = table.get("slice")
        if table is columns.tables["slices"]:
            rows = is_selected
        elif of_slice is not None and len(is_selected):
            rows = (of_slice < 0) | is_selected[np.maximum(of_slice, 0)]
            table["slice"] = _renumbered(of_slice, is_selected)
        else:
            continue
        for name in table:
            table[name] = table[name][rows]
    _renumber_links(columns, is_selected)


def _renumber_links(columns: EventColumns, is_selected: Bools) -> None:
    columns.launch, columns.owner = (
        None
        if rows is None
        else _renumbered(np.where(rows < len(is_selected), rows, ABSENT), is_selected)[is_selected]
        for rows in (columns.launch, columns.owner)
    )


def _clip_spans(slices: ColumnArrays, window: Window) -> None:
    """Let the spans that a profiler declares end with the part, in place: they say which time is
    recorded."""
    rows = np.flatnonzero(slices["category"] == Category.SPAN)
    start_ns = slices["start_ns"][rows]
    end_ns = np.minimum(start_ns + slices["dur_ns"][rows], window.end_ns)
    slices["start_ns"][rows] = start_ns = np.maximum(start_ns, window.start_ns)
    slices["dur_ns"][rows] = np.maximum(end_ns - start_ns, 0)


def _launched_later(slices: ColumnArrays, is_selected: Bools, window: Window) -> Bools:
    """Work after the window that was launched by its calls."""
    is_call = is_selected & (slices["category"] == Category.RUNTIME) & (slices["correlation"] > 0)
    is_later = (slices["start_ns"] >= window.end_ns) & (slices["start_ns"] < window.device_end_ns)
    is_later &= np.isin(slices["category"], [int(each) for each in DEVICE_WORK_CATEGORIES])
    is_later &= np.isin(slices["correlation"], slices["correlation"][is_call])
    return is_later


def _described(window: Window, times: RecordedTimes) -> str:
    start, end, whole = (
        seconds_text(each - times.first_ns)
        for each in (window.start_ns, min(window.end_ns, times.last_ns), times.last_ns)
    )
    return f"{start} to {end} of {whole} since the first event"


def select_rows(name: str, table: ColumnArrays, is_selected: Bools, window: Window) -> ColumnArrays:
    """A table with the selected slices, or their details, or other events by their time.

    Args:
        name: Its name.
        table: Its columns; ``slice`` counts the slices of ``is_selected``.
        is_selected: Which slices are selected.
        window: The window.
    """
    if name == "slices":
        return {column: values[is_selected] for column, values in table.items()}
    of_slice = table.get("slice")
    if "time_ns" in table:
        rows = window.holds(table["time_ns"])
    elif of_slice is not None and len(is_selected):
        rows = (of_slice < 0) | is_selected[np.maximum(of_slice, 0)]
    else:
        return table
    selected = {column: values[rows] for column, values in table.items()}
    if of_slice is not None and len(is_selected):
        selected["slice"] = _renumbered(of_slice[rows], is_selected)
    return selected


def _renumbered(rows: Int64, is_selected: Bools) -> Int64:
    """Rows of slices among the selected ones; absent where they are not."""
    number = np.append(np.where(is_selected, np.cumsum(is_selected) - 1, ABSENT), ABSENT)
    renumbered: Int64 = number[np.clip(rows, 0, len(is_selected))]
    return np.where(rows < 0, rows, renumbered)


def codes_of_used(is_used: Bools) -> Int32:
    """New codes of what is used; valid where it is, and for the last one, which is that of -1."""
    number = (np.cumsum(is_used) - 1).astype(np.int32)
    number[-1] = -1
    return number


def used_tracks(tables: dict[str, ColumnArrays], tracks: list[Track]) -> list[Track]:
    """The tracks that tables refer to; their ``track`` columns are renumbered in place."""
    is_used = np.zeros(len(tracks) + 1, np.bool_)
    holders = [table for table in tables.values() if "track" in table]
    for table in holders:
        is_used[table["track"]] = True
    number = codes_of_used(is_used)
    for table in holders:
        table["track"] = number[table["track"]]
    return [track for track, used in zip(tracks, is_used[:-1].tolist(), strict=True) if used]
