"""``*timeline_display_*.json``: the events, read as Chrome JSON.

Rows have numbers instead of names: this module names them, and aligns the clock of the recorded
steps. Format: docs/format-mindspore.md#timeline.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from torch_tb_profiler.importers.kineto import reader as chrome_json
from torch_tb_profiler.importers.kineto.categories import infer_category
from torch_tb_profiler.importers.mindspore.full_names import DIALECT
from torch_tb_profiler.importers.mindspore.operators import type_from_name
from torch_tb_profiler.importers.mindspore.parsing import column_key
from torch_tb_profiler.importers.mindspore.step_trace import RecordedStep
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int64,
    Track,
    absent_table,
    empty_table,
)

AI_CPU_ROWS = "9000"
TRANSFER_ROWS = "10000"
HOST_CPU_ROWS = "11000"
"""Process ids of the rows of the AI CPU, of collectives and of the host."""

DERIVED_ROWS = ("steps", "merged", "pure communication", "free time", "scope", "operators overlap")
"""Prefixes of the names of rows that repeat the data of other rows."""

TRANSFER_NAME = re.compile(r"stream_[0-9]+_(?:[0-9]+_)?(.+)")

TICK_NS = 10
CLOCK_TOLERANCE_NS = 1000


def read_timeline(source: Source, reading: Reading, *, device: int, is_gpu: bool) -> EventColumns:
    """Read the events of one device, and name its rows.

    Raises:
        TraceFormatError: it has no event array.
        StorageError, OSError: it cannot be read.
    """
    columns = chrome_json.read(source, reading, DIALECT)
    kinds = [_classify_track(track, device, is_gpu=is_gpu) for track in columns.tracks]
    slices = columns.tables["slices"]
    slices["category"] = _categories(slices, columns.strings, kinds)
    columns.quality.counts.pop("missing_category", None)
    columns.tables["device"] = _device_rows(slices, columns.tracks, device)
    columns.tables["collective"] = _collectives(columns, kinds)
    return columns


def _classify_track(track: Track, device: int, *, is_gpu: bool) -> Category | None:
    """Name a row in place; returns the category of its events, None if it depends on their
    names."""
    thread = (track.thread_name or track.tid).lower()
    process = (track.process_name or "").lower()
    label = f"{'GPU' if is_gpu else 'NPU'} {device}"
    if track.pid == HOST_CPU_ROWS or "host cpu" in process or (is_gpu and not thread.isdecimal()):
        track.process_name = track.process_name or "Host CPU"
        return Category.OPERATOR
    track.process_label = label
    if thread.startswith(DERIVED_ROWS) or process.startswith(DERIVED_ROWS):
        return Category.DEVICE_OTHER
    if track.pid == TRANSFER_ROWS or "communication" in process:
        track.process_name = track.process_name or "Communication"
    elif track.pid == AI_CPU_ROWS or "ai cpu" in process:
        track.process_name = track.process_name or "AI CPU"
    else:
        track.process_name = track.process_name or ("GPU" if is_gpu else "AI Core")
    return None


def _categories(
    slices: ColumnArrays, strings: Sequence[str], kinds: Sequence[Category | None]
) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    by_track = np.array([-1 if kind is None else int(kind) for kind in kinds], np.int8)
    category = by_track[slices["track"]]
    rows = np.flatnonzero(category < 0)
    codes, inverse = np.unique(slices["name_code"][rows], return_inverse=True)
    by_name = [infer_category(strings[code] if code >= 0 else "", on_device=True) for code in codes]
    category[rows] = np.array(by_name, np.int8)[inverse] if by_name else category[rows]
    return category


def _device_rows(slices: ColumnArrays, tracks: Sequence[Track], device: int) -> ColumnArrays:
    work = np.flatnonzero(np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES]))
    streams = np.array([_stream(track) for track in tracks], np.int64)
    table = absent_table("device", len(work))
    table["slice"] = work
    table["device"] = np.full(len(work), device, np.int64)
    table["stream"] = streams[slices["track"][work]] if len(tracks) else table["stream"]
    return table


def _stream(track: Track) -> int:
    """``"Stream 7"`` and ``"7"`` are stream 7; the AI CPU has none."""
    text = (track.thread_name or track.tid).lower().removeprefix("stream").strip()
    is_stream = text.isdecimal() and len(text) < 10 and track.pid != AI_CPU_ROWS
    return int(text) if is_stream else ABSENT


def _collectives(columns: EventColumns, kinds: Sequence[Category | None]) -> ColumnArrays:
    """The collective table of the rows of collectives: the kind comes from the name; sizes are not
    recorded."""
    is_collective = np.array(
        [
            kind is None and track.pid == TRANSFER_ROWS
            for track, kind in zip(columns.tracks, kinds, strict=True)
        ],
        np.bool_,
    )
    slices = columns.tables["slices"]
    rows = (
        np.flatnonzero(is_collective[slices["track"]])
        if len(is_collective)
        else np.empty(0, np.int64)
    )
    if not len(rows):
        return empty_table("collective")
    table = absent_table("collective", len(rows))
    table["slice"] = rows
    names, inverse = np.unique(slices["name_code"][rows], return_inverse=True)
    kinds_by_name = [_collective(columns.strings[code]) for code in names.tolist()]
    texts = list(dict.fromkeys(kinds_by_name))
    codes = [len(columns.strings) + texts.index(text) for text in kinds_by_name]
    columns.strings.extend(texts)
    table["collective_code"] = np.array(codes, np.int32)[inverse]
    return table


def _collective(name: str) -> str:
    """``stream_36_0_AllReduce-op4542`` is AllReduce, ``stream_520_parallel_0`` an all-reduce."""
    match = TRANSFER_NAME.fullmatch(name)
    if match is None:
        return type_from_name(name)
    return "all_reduce" if match[1].startswith("parallel_") else type_from_name(match[1])


def add_steps(columns: EventColumns, steps: Sequence[RecordedStep], zero_tick: int | None) -> bool:
    """Add the recorded steps as steps of the trace, if the clocks of both can be aligned.

    Args:
        columns: The events, changed in place.
        steps: The recorded steps.
        zero_tick: The tick at which the timeline's clock begins, None if unknown.

    Returns:
        Whether they were added. The clocks are aligned if every transfer that both have begins at
        the same time in both, or, without such transfers, if the tick is known. Steps whose
        operators the timeline lacks are left out.
    """
    slices = columns.tables["slices"]
    starts = _first_starts(slices, columns.strings, steps)
    offsets = {
        step_start * TICK_NS - starts[name]
        for step in steps[:1]
        for name, (step_start, _) in step.transfers.items()
        if name in starts
    }
    if zero_tick is not None:
        offsets.add(zero_tick * TICK_NS)
    if not steps or not offsets or max(offsets) - min(offsets) > CLOCK_TOLERANCE_NS:
        return False
    zero_ns = zero_tick * TICK_NS if zero_tick is not None else min(offsets)
    with_operators = _with_operators(columns, steps, zero_ns)
    columns.quality.add("steps_without_operators", len(steps) - len(with_operators))
    _append_steps(columns, with_operators, zero_ns)
    return True


def _with_operators(
    columns: EventColumns, steps: Sequence[RecordedStep], zero_ns: int
) -> Sequence[RecordedStep]:
    """The steps whose operators are all on the timeline.

    MindSpore writes its first operators up to a size, but the collectives of all steps. Where steps
    begin after the last operator, the one in which it begins is cut, too. All steps if none is
    whole.
    """
    slices = columns.tables["slices"]
    is_operator = np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    is_operator[columns.tables["collective"]["slice"]] = False
    if not is_operator.any():
        return steps
    last_ns = int(slices["start_ns"][is_operator].max())
    begun = [step for step in steps if step.start * TICK_NS - zero_ns <= last_ns]
    if len(begun) == len(steps):
        return steps
    whole = [step for step in begun if step.end * TICK_NS - zero_ns <= last_ns]
    return whole or steps


def _first_starts(
    slices: ColumnArrays, strings: Sequence[str], steps: Sequence[RecordedStep]
) -> Mapping[str, int]:
    """Transfer name (as key) → start of its first slice on the timeline."""
    names = {name for step in steps[:1] for name in step.transfers}
    starts = {}
    for code, name in enumerate(strings):
        if column_key(name) in names:
            rows = np.flatnonzero(slices["name_code"] == code)
            if len(rows):
                starts[column_key(name)] = int(slices["start_ns"][rows].min())
    return starts


def _append_steps(columns: EventColumns, steps: Sequence[RecordedStep], zero_ns: int) -> None:
    slices, count = columns.tables["slices"], len(steps)
    columns.tracks.append(Track("steps", "0", process_name="Recorded steps"))
    first_code = len(columns.strings)
    columns.strings.extend(f"ProfilerStep#{step.number}" for step in steps)
    start = np.array([step.start * TICK_NS - zero_ns for step in steps], np.int64)
    end = np.array([step.end * TICK_NS - zero_ns for step in steps], np.int64)
    added = absent_table("slices", count)
    added["category"] = np.full(count, Category.STEP, np.int8)
    added["name_code"] = np.arange(first_code, first_code + count, dtype=np.int32)
    added["track"] = np.full(count, len(columns.tracks) - 1, np.int32)
    added["start_ns"], added["dur_ns"] = start, end - start
    before = len(slices["start_ns"])
    owner = _owners(slices, start, end, before)
    for column, values in added.items():
        slices[column] = np.concatenate((slices[column], values.astype(slices[column].dtype)))
    columns.owner = np.concatenate((owner, np.full(count, ABSENT)))


def _owners(slices: ColumnArrays, start: Int64, end: Int64, before: int) -> Int64:
    """Per slice the row of the step in which it begins, if it is device work."""
    order = np.argsort(start, kind="stable")
    position = np.searchsorted(start[order], slices["start_ns"], "right") - 1
    step = order[position]
    inside = (position >= 0) & (slices["start_ns"] < end[step])
    inside &= np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    owners: Int64 = np.where(inside, before + step, ABSENT)
    return owners
