"""The steps of a trace, stretched by the device work they launched (peer-behaviour §2.9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.trace.categories import (
    DEVICE_CATEGORIES,
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.links import DeviceWork
from torch_tb_profiler.trace.model import STEPS
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport

TAIL_SHARE = 0.8
"""The last step with device work is left out when it has less than this share of the work of the
step before it: the recording ended before its kernels were all seen (peer-behaviour §2.9)."""


@dataclass(slots=True)
class _Steps:
    """Steps in time order. ``slice`` is -1 when the one step is made up."""

    name: list[str]
    slice: Int64
    start: Int64
    end: Int64


def build_steps(
    slices: OrderedSlices, work: DeviceWork, strings: list[str], quality: QualityReport
) -> tuple[pl.DataFrame, Int64]:
    """The ``steps`` table, and per slice its row there (-1 for none)."""
    steps = _annotated_steps(slices, strings, quality)
    made_up = steps is None
    if steps is None:
        quality.add("no_steps")
        steps = _whole_recording(slices)
    start, end, device_events = _stretch(steps, slices, work)
    kept = _kept(device_events)
    quality.add("step_left_out", int((~kept).sum()))
    count = len(steps.name)
    frame = pl.DataFrame(
        {
            "name": steps.name,
            "slice": pl.Series(steps.slice).replace(-1, None),
            "host_start_ns": steps.start,
            "host_end_ns": steps.end,
            "start_ns": start,
            "end_ns": end,
            "device_events": device_events,
            "kept": kept,
        },
        schema=STEPS,
    )
    if made_up:
        return frame, np.full(len(slices.start_ns), 0 if count else -1, np.int64)
    return frame, _step_of_slices(steps, slices, work)


def _annotated_steps(
    slices: OrderedSlices, strings: list[str], quality: QualityReport
) -> _Steps | None:
    """Steps from the host-side ``ProfilerStep#N`` slices.

    Steps of one number that overlap (a step seen on two threads) are one step, the longest.
    """
    ids = slices.ids_of((Category.STEP,))
    if len(ids) == 0:
        return None
    start, dur = slices.start_ns[ids], slices.dur_ns[ids]
    ids = ids[np.lexsort((-dur, dur > 0, start))]  # empty steps first: they hold no slice
    kept: list[int] = []
    last_end: dict[str, int] = {}
    names: list[str] = []
    for step in ids.tolist():
        name = strings[slices.name_code[step]].partition("#")[2] or "0"
        if name in last_end:
            quality.add("step_duplicate", 1, f"ProfilerStep#{name}")
            if slices.start_ns[step] < last_end[name]:
                continue
        last_end[name] = int(slices.end_ns[step])
        kept.append(step)
        names.append(name)
    rows = np.array(kept, np.int64)
    return _Steps(names, rows, slices.start_ns[rows], slices.end_ns[rows])


def _whole_recording(slices: OrderedSlices) -> _Steps:
    """One step ``0`` from the first to the last node; without nodes, of whatever there is."""
    for categories in (
        NODE_CATEGORIES,
        (Category.RUNTIME, *PYTHON_CATEGORIES),
        DEVICE_WORK_CATEGORIES,
        tuple(Category),
    ):
        ids = slices.ids_of(categories)
        if len(ids):
            start, end = slices.start_ns[ids].min(), slices.end_ns[ids].max()
            one = np.ones(1, np.int64)
            return _Steps(["0"], -one, start * one, end * one)
    none = np.empty(0, np.int64)
    return _Steps([], none, none, none)


def _row_at(steps: _Steps, time_ns: Int64) -> Int64:
    """Per time the last step with start ≤ time < end, or -1."""
    row = np.searchsorted(steps.start, time_ns, "right") - 1
    if len(steps.start):
        row[time_ns >= steps.end[row]] = -1
    return row


def _stretch(steps: _Steps, slices: OrderedSlices, work: DeviceWork) -> tuple[Int64, Int64, Int64]:
    """Start, end and number of device events per step, by the rules of peer-behaviour §2.9.

    A device event belongs to the step that holds its launch wholly.
    """
    count = len(steps.name)
    launched = work.launch >= 0
    launch = work.launch[launched]
    row_of_launch = _row_at(steps, slices.start_ns[launch])
    if count:
        row_of_launch[slices.end_ns[launch] > steps.end[row_of_launch]] = -1
    row = np.full(len(work.ids), -1, np.int64)
    row[launched] = row_of_launch
    inside = row >= 0
    device_events = np.bincount(row[inside], minlength=count).astype(np.int64)
    if not inside.any():
        return steps.start.copy(), steps.end.copy(), device_events
    device_end = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(device_end, row[inside], slices.end_ns[work.ids[inside]])
    boundary = int(steps.start[0])
    if device_events[0]:
        first = slices.start_ns[work.ids[row == 0]].min()
        before = slices.end_ns[work.ids[~inside]]
        boundary = max(boundary, int(before[before < first].max(initial=boundary)))
    start, end = np.empty(count, np.int64), np.empty(count, np.int64)
    for step in range(count):
        start[step] = max(boundary, steps.start[step])
        end[step] = boundary = max(start[step], steps.end[step], device_end[step])
    return start, end, device_events


def _kept(device_events: Int64) -> Bools:
    """False for the tail of steps whose device work is missing or incomplete."""
    kept = np.ones(len(device_events), np.bool_)
    with_work = np.flatnonzero(device_events)
    if len(device_events) <= 1 or len(with_work) == 0:
        return kept
    last = with_work[-1]
    kept[last + 1 :] = False
    if last > 0 and TAIL_SHARE * device_events[last - 1] > device_events[last]:
        kept[last] = False
    return kept


def _step_of_slices(steps: _Steps, slices: OrderedSlices, work: DeviceWork) -> Int64:
    """Host slices by their start, device work by its launch or owner; the rest has none."""
    row = _row_at(steps, slices.start_ns)
    row[steps.slice] = np.arange(len(steps.name))
    row[slices.mask_of(_ON_DEVICES)] = -1
    source = np.where(work.launch >= 0, work.launch, work.owner)
    known = source >= 0
    row[work.ids[known]] = row[source[known]]
    return row


_ON_DEVICES = (*DEVICE_CATEGORIES, Category.SPAN)
