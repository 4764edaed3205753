"""Events by type: how often, and when any of the type ran.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.algebra.intervals import Intervals, time_before, union, union_all
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.analysis.steps.phases.times import host_steps
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

HOST, DEVICE = "host", "device"
COMMUNICATION = "Communication"

NAMED = {
    Category.STEP: "ProfileStep",
    Category.DATALOADER: "Dataloader",
    Category.OPTIMIZER: "Optimization",
    Category.MODULE: "Module",
}
"""Types that formats recognise by more than the word for their category."""

PHASES = (*NAMED.values(), "Forward", "Backward")
"""Of these one inside another is a part of it (Paddle's ``Forward`` of a layer), and no call."""

_LEFT_OUT = (
    Category.SPAN,
    *(category for category in DEVICE_CATEGORIES if category not in DEVICE_WORK_CATEGORIES),
)


class EventTypes(Struct, frozen=True, eq=False):
    """The types of the events of a recording.

    Attributes:
        names: Name of each type.
        on_device: Whether each is work of a device.
        number: Per slice the number of its type, -1 for none.
        is_outermost: Per slice whether no slice of its type is directly around it; of
            :data:`PHASES`, whether none is, whatever lies between.
        sticks_out: Per slice whether it ends after what is around it, by a tick of the clock.
    """

    names: list[str]
    on_device: list[bool]
    number: npt.NDArray[np.int16]
    is_outermost: Bools
    sticks_out: Bools


@per_trace
def types_of_events(trace: Trace) -> EventTypes:
    """The type of every slice: the recording's own word for it (``cpu_op``, ``OperatorInner``), or
    :data:`NAMED`; made once."""
    slices = trace.slices
    category = slices["category"].to_numpy().astype(np.int64)
    words = indices(slices["raw_category_code"])
    width = len(trace.strings) + 1
    key = category * width + words + 1
    kinds = np.sort(pl.Series(key).unique().to_numpy())
    rows: dict[tuple[str, bool], int] = {}
    of_kind = np.full(len(kinds), -1, np.int16)
    for at, kind in enumerate(kinds.tolist()):
        own, word = Category(kind // width), kind % width - 1
        if own not in _LEFT_OUT:
            name = NAMED.get(own) or trace.text(word) or own.name.lower()
            of_kind[at] = rows.setdefault((name, own in DEVICE_CATEGORIES), len(rows))
    number = of_kind[np.searchsorted(kinds, key)]
    parent = indices(slices["parent"])
    is_outermost = (parent < 0) | (np.append(number, -2)[parent] != number)
    end = slices["start_ns"].to_numpy() + slices["dur_ns"].to_numpy()
    phases = [row for (name, _), row in rows.items() if name in PHASES]
    events = np.flatnonzero(np.isin(number, phases))
    is_outermost[events] = ~_lies_in_its_type(slices[events], number[events])
    sticks_out = (parent >= 0) & (end > np.append(end, 0)[parent])
    return EventTypes(
        [name for name, _ in rows],
        [device for _, device in rows],
        number,
        is_outermost,
        sticks_out,
    )


def _lies_in_its_type(slices: pl.DataFrame, number: npt.NDArray[np.int16]) -> Bools:
    """Mask of ``slices`` that lie in one of the same ``number`` on their track."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    before = end.cum_max().shift(1).over("number", "track")
    lies = (pl.col("start_ns") < before) & (end <= before)
    rows = slices.select("track", "start_ns", "dur_ns", number=pl.Series(number))
    mask: Bools = rows.select(lies.fill_null(False).alias("lies"))["lies"].to_numpy()
    return mask


def event_types(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Events of a selection by type: ``type``, ``side``, ``calls``, ``time_ns`` (moments of several
    events of the type once, over all threads, devices and streams), and ``in_steps_ns``: those of
    these moments that are in the selected steps; of devices, up to the end of their work.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if selection.is_everything:
        return _of_everything(trace)
    masks = slice_mask(trace, selection), device_work_mask(trace, selection)
    return _event_types(trace, *masks, steps_by_side(trace, selection))


@per_split
def _of_everything(trace: Trace) -> pl.DataFrame:
    every = np.ones(trace.slices.height, np.bool_)
    work = np.ones(trace.device_work.height, np.bool_)
    return _event_types(trace, every, work, steps_by_side(trace, Selection()))


def steps_by_side(trace: Trace, selection: Selection) -> dict[str, Intervals]:
    """The selected steps on the host, and on devices: up to the end of their device work.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    steps, windows = host_steps(trace, selection), step_windows(trace, selection)
    on_host = union(steps.start_ns, steps.end_ns)
    return {HOST: on_host, DEVICE: union_all(on_host, union(windows.start_ns, windows.end_ns))}


def _event_types(
    trace: Trace, chosen: Bools, work: Bools, steps: dict[str, Intervals]
) -> pl.DataFrame:
    types = types_of_events(trace)
    number = types.number
    start = trace.slices["start_ns"].to_numpy()
    duration = trace.slices["dur_ns"].to_numpy()
    known = chosen & (number >= 0)
    # What lies in one of its type adds no moment, unless that is not selected.
    inner = np.flatnonzero(known & ~types.is_outermost)
    parent = indices(trace.slices["parent"][inner])
    outer = known.copy()
    outer[inner] = (parent < 0) | ~chosen[parent]
    rows = np.flatnonzero(outer | (known & types.sticks_out))
    rows = rows[np.lexsort((start[rows], number[rows]))]  # once for all sums
    of_rows = number[rows].astype(np.int64)
    starts, ends = start[rows], start[rows] + duration[rows]
    count = len(types.names)
    time = union_lengths(of_rows, starts, ends, count)
    # On the clock of the steps, which stands still outside of them, the same moments are a union.
    in_steps = np.zeros(count, np.int64)
    on_device = np.array(types.on_device, np.bool_)[of_rows]
    for side, spans in steps.items():
        own = on_device == (side == DEVICE)
        begun, ended = time_before(spans, starts[own]), time_before(spans, ends[own])
        in_steps += union_lengths(of_rows[own], begun, ended, count)
    calls = np.bincount(number[known], minlength=len(types.names))
    outer_calls = np.bincount(number[outer], minlength=len(types.names))
    is_phase = np.array([name in PHASES for name in types.names], np.bool_)
    counts = np.where(is_phase, outer_calls, calls) if len(types.names) else calls
    frame = pl.DataFrame(
        {
            "type": types.names,
            "side": [DEVICE if device else HOST for device in types.on_device],
            "calls": counts,
            "time_ns": time,
            "in_steps_ns": in_steps,
        },
        schema={
            "type": pl.String,
            "side": pl.String,
            "calls": pl.Int64,
            "time_ns": pl.Int64,
            "in_steps_ns": pl.Int64,
        },
    )
    communication = _communication(trace, work, steps[DEVICE])
    return pl.concat([frame, communication]).filter(pl.col("calls") > 0)


def _communication(trace: Trace, work: Bools, steps: Intervals) -> pl.DataFrame:
    """The kernels that communicate, which are part of all kernels."""
    rows = np.flatnonzero(kernel_kinds(trace).is_communication & work)
    start: Int64 = trace.device_work["start_ns"].to_numpy()[rows]
    end = start + trace.device_work["dur_ns"].to_numpy()[rows]
    one = np.zeros(len(rows), np.int64)
    inside = union_lengths(one, time_before(steps, start), time_before(steps, end), 1)
    time = union_lengths(one, start, end, 1)
    values: dict[str, Any] = {"calls": [len(rows)], "time_ns": time, "in_steps_ns": inside}
    return pl.DataFrame({"type": [COMMUNICATION], "side": [DEVICE], **values})
