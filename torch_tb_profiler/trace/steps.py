"""The steps of a trace, one sequence per process, extended by the device work they launched.

The rules are those of ``docs/metrics.md#steps``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.blocks import blocks
from torch_tb_profiler.trace.categories import (
    DEVICE_CATEGORIES,
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.constant_columns import constant
from torch_tb_profiler.trace.links import DeviceWork
from torch_tb_profiler.trace.model import STEPS
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.step_tails import (
    complete_by_device_work,
    complete_by_host_work,
    count_operators,
)

_ON_DEVICES = (*DEVICE_CATEGORIES, Category.SPAN)


class _Steps(Struct):
    """Steps by process and in time order. ``slice`` and ``process`` are -1 for the synthetic step
    of a recording without steps. ``sequence`` numbers the processes that have steps,
    ``sequence_of_track`` the tracks whose slices belong to one (-1: to none)."""

    name: list[str]
    slice: Int64
    process: Int32
    start: Int64
    end: Int64
    sequence: Int64
    sequence_of_track: Int64

    @property
    def sequence_count(self) -> int:
        return int(self.sequence.max(initial=-1)) + 1

    def row_at(self, track: Int32, time_ns: Int64) -> Int64:
        """Per (track, time) the last step of its sequence with start ≤ time < end, or -1."""
        if len(self.start) == 0:
            return np.full(len(time_ns), -1, np.int64)
        if self.sequence_count == 1:
            row = np.searchsorted(self.start, time_ns, "right") - 1
            row[time_ns >= self.end[row]] = -1
            return row
        clock = TrackClock((self.start, self.end), self.sequence_count)
        sequence = self.sequence_of_track[track]
        known = clock.keys(self.sequence, self.start)
        row = np.searchsorted(known, clock.keys(sequence, time_ns), "right") - 1
        row[(sequence != self.sequence[row]) | (time_ns >= self.end[row])] = -1
        return row


def build_steps(
    slices: OrderedSlices,
    work: DeviceWork,
    strings: list[str],
    quality: QualityReport,
    *,
    has_execution: bool,
) -> tuple[pl.DataFrame, Int64]:
    """The ``steps`` table, and per slice its row there (-1 for none). A recording without annotated
    steps is one step, unless it is of memory alone, whose user ranges are no execution."""
    steps = _annotated_steps(slices, strings, quality)
    is_synthetic = steps is None
    if steps is None:
        steps = _whole_recording(slices, _ANY if has_execution else ())
        quality.add("no_steps", len(steps.name))  # there is no synthetic step without a timeline
    elif steps.sequence_count > 1:
        quality.add("several_processes", steps.sequence_count)
    start, end, device_events = _stretch(steps, slices, work)
    selected = _complete_steps(steps, device_events, slices)
    quality.add("step_left_out", int((~selected).sum()))
    frame = pl.DataFrame(
        {
            "name": steps.name,
            "process": pl.Series(steps.process).replace(NO_PROCESS, None),
            "slice": pl.Series(steps.slice).replace(-1, None),
            "host_start_ns": steps.start,
            "host_end_ns": steps.end,
            "start_ns": start,
            "end_ns": end,
            "device_events": device_events,
            "kept": selected,
        },
        schema=STEPS,
    )
    if is_synthetic:
        return frame, constant(0 if len(frame) else -1, len(slices.start_ns), np.int64)
    return frame, _step_of_slices(steps, slices, work)


def _annotated_steps(
    slices: OrderedSlices, strings: list[str], quality: QualityReport
) -> _Steps | None:
    """Steps from the host-side ``ProfilerStep#N`` slices.

    Overlapping steps of one process and number (a step seen on two threads) are one step, the
    longest.
    """
    ids = slices.ids_of((Category.STEP,))
    if len(ids) == 0:
        return None
    start, dur, process = slices.start_ns[ids], slices.dur_ns[ids], slices.process_of(ids)
    # Empty steps come first: they contain no slice.
    order = np.lexsort((-dur, dur > 0, start, process))
    selected: list[int] = []
    last_end: dict[tuple[int, str], int] = {}
    names: list[str] = []
    for step, of_process in zip(ids[order].tolist(), process[order].tolist(), strict=True):
        name = strings[slices.name_code[step]].partition("#")[2] or "0"
        key = of_process, name
        if key in last_end:
            quality.add("step_duplicate", 1, f"ProfilerStep#{name}")
            if slices.start_ns[step] < last_end[key]:
                continue
        last_end[key] = int(slices.end_ns[step])
        selected.append(step)
        names.append(name)
    rows = np.array(selected, np.int64)
    process = slices.process_of(rows)
    return _Steps(
        names,
        rows,
        process,
        slices.start_ns[rows],
        slices.end_ns[rows],
        *_sequences(process, slices.process_of_track),
    )


def _sequences(process: Int32, process_of_track: Int32) -> tuple[Int64, Int64]:
    """Per step and per track its sequence. If only one process has steps, they are those of the
    whole file."""
    with_steps, sequence = np.unique(process, return_inverse=True)
    if len(with_steps) == 1:
        return sequence, np.zeros(len(process_of_track), np.int64)
    sequence_of_head = np.searchsorted(with_steps, process_of_track)
    same = np.append(with_steps, NO_PROCESS)[sequence_of_head] == process_of_track
    return sequence, np.where(same & (process_of_track != NO_PROCESS), sequence_of_head, -1)


_ANY = (
    NODE_CATEGORIES,
    (Category.RUNTIME, *PYTHON_CATEGORIES),
    DEVICE_WORK_CATEGORIES,
    tuple(Category),
)


def _whole_recording(slices: OrderedSlices, candidates: Iterable[tuple[Category, ...]]) -> _Steps:
    """One step ``0`` from the first to the last node; without nodes, of whatever there is."""
    tracks = np.zeros(len(slices.process_of_track), np.int64)
    one = np.ones(1, np.int64)
    for categories in candidates:
        ids = slices.ids_of(categories)
        if len(ids):
            start, end = slices.start_ns[ids].min(), slices.end_ns[ids].max()
            no_process = np.full(1, NO_PROCESS, np.int32)
            return _Steps(["0"], -one, no_process, start * one, end * one, 0 * one, tracks)
    none = np.empty(0, np.int64)
    return _Steps([], none, none.astype(np.int32), none, none, none, tracks)


def _stretch(steps: _Steps, slices: OrderedSlices, work: DeviceWork) -> tuple[Int64, Int64, Int64]:
    """Start, end and number of device events per step.

    A device event belongs to the step that contains its whole launch, or the operator it names if
    no launch is recorded. The synthetic step is extended by launches alone.
    """
    count = len(steps.name)
    is_synthetic = bool((steps.slice < 0).all())
    row = np.full(len(work.ids), -1, np.int32)
    device_events = np.zeros(count, np.int64)
    device_end = np.full(count, np.iinfo(np.int64).min)
    for some in blocks(len(row)):
        source = work.launch[some]
        if not is_synthetic:
            source = np.where(source >= 0, source, work.owner[some])
        row[some] = at = _row_of_callers(steps, slices, source)
        inside = at >= 0
        device_events += np.bincount(at[inside], minlength=count)
        np.maximum.at(device_end, at[inside], slices.end_ns[work.ids[some][inside]])
    if not device_events.any():
        return steps.start.copy(), steps.end.copy(), device_events
    # The synthetic step covers the whole recording, also work that was launched before.
    boundaries = steps.start if is_synthetic else _ends_of_earlier_work(steps, slices, work, row)
    start, end = np.empty(count, np.int64), np.empty(count, np.int64)
    last = -1
    for step, sequence in enumerate(steps.sequence.tolist()):
        if sequence != last:
            boundary, last = int(boundaries[sequence]), sequence
        start[step] = max(boundary, steps.start[step])
        end[step] = boundary = max(start[step], steps.end[step], device_end[step])
    return start, end, device_events


def _row_of_callers(steps: _Steps, slices: OrderedSlices, source: Int64) -> Int64:
    """Per launching slice (-1 for none) the step that contains it whole, or -1."""
    known = source >= 0
    caller = source[known]
    row_of_caller = steps.row_at(slices.track[caller], slices.start_ns[caller])
    if len(steps.name):
        row_of_caller[slices.end_ns[caller] > steps.end[row_of_caller]] = -1
    row = np.full(len(source), -1, np.int64)
    row[known] = row_of_caller
    return row


def _ends_of_earlier_work(
    steps: _Steps, slices: OrderedSlices, work: DeviceWork, row: Int32
) -> Int64:
    """Per sequence the earliest start of its first step: the last end of device work that belongs
    to no step and ends before the first step's own device work starts, else the step's start.

    Args:
        steps: The steps.
        slices: All slices.
        work: The device work.
        row: Its steps, -1 for none.
    """
    count = steps.sequence_count
    heads = np.searchsorted(steps.sequence, np.arange(count))
    boundary: Int64 = steps.start[heads].copy()
    sequence_of_head = np.full(len(steps.name) + 1, -1, np.int64)
    sequence_of_head[heads] = np.arange(count)
    in_head = np.flatnonzero(sequence_of_head[row] >= 0)
    first_work = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first_work, sequence_of_head[row[in_head]], slices.start_ns[work.ids[in_head]])
    has_work = np.bincount(sequence_of_head[row[in_head]], minlength=count) > 0
    first_work[~has_work] = np.iinfo(np.int64).min
    outside = np.flatnonzero(row < 0)
    sequence = np.zeros(len(outside), np.int64)
    if count > 1:
        sequence = _sequence_of_process(steps, slices)[work.process[outside]]
        outside, sequence = outside[sequence >= 0], sequence[sequence >= 0]
    end = slices.end_ns[work.ids[outside]]
    earlier = end < first_work[sequence]
    np.maximum.at(boundary, sequence[earlier], end[earlier])
    return boundary


def _sequence_of_process(steps: _Steps, slices: OrderedSlices) -> Int64:
    """Per process its sequence or -1; the last element is for :data:`NO_PROCESS`."""
    sequence = np.full(int(slices.process_of_track.max()) + 2, -1, np.int64)
    sequence[steps.process] = steps.sequence
    return sequence


def _complete_steps(steps: _Steps, device_events: Int64, slices: OrderedSlices) -> Bools:
    """False for the last steps of each sequence that are not recorded to their end."""
    bounds = np.flatnonzero(np.diff(steps.sequence)) + 1
    parts = np.split(np.arange(len(steps.name)), bounds)
    selected = np.concatenate([complete_by_device_work(device_events[part]) for part in parts])
    on_host = [part for part in parts if len(part) > 1 and not device_events[part].any()]
    if on_host:
        row = steps.row_at(slices.track, slices.start_ns)
        operators = count_operators(slices, row, len(steps.name))
        for part in on_host:
            selected[part] = complete_by_host_work(slices, steps.slice[part], operators[part])
    return selected


def _step_of_slices(steps: _Steps, slices: OrderedSlices, work: DeviceWork) -> Int64:
    """Host slices by their start, device work by its launch or owner; all others have none."""
    row = steps.row_at(slices.track, slices.start_ns)
    row[steps.slice] = np.arange(len(steps.name))
    row[slices.mask_of(_ON_DEVICES)] = -1
    source = np.where(work.launch >= 0, work.launch, work.owner)
    known = source >= 0
    row[work.ids[known]] = row[source[known]]
    return row
