"""The part of a trace that a selection means, as masks over its tables.

Host slices are in a selection by their start; device work by the step of its launch
(or its own start when a time range is given). Views that speak of time itself
(overview) cut intervals at the edges instead.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.selection import SHOWN_CHARACTERS, Selection, SelectionError
from torch_tb_profiler.analysis.steps.phases.boundaries import (
    Boundaries,
    UnknownBoundaryError,
    bounded_phases,
)
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases
from torch_tb_profiler.analysis.steps.phases.evidence import PHASES_BY_NAME
from torch_tb_profiler.analysis.steps.step_text import parse_steps
from torch_tb_profiler.trace.columns import EPOCH_NS, Bools, Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

_NO_NUMBERS = np.empty(0, np.int32)


def boundaries(selection: Selection) -> Boundaries:
    """Where forward passes begin and backward passes end, where the selection says so."""
    return Boundaries(selection.forward_start, selection.backward_end)


def time_range(trace: Trace, selection: Selection) -> tuple[int | None, int | None]:
    """Start and end of the selection's time range in trace time, None where it is open.

    Times that can only count from the epoch (files without base time write such) are taken so.
    """

    def of_trace(time_ns: int | None) -> int | None:
        if time_ns is None or time_ns <= EPOCH_NS:
            return time_ns
        return time_ns - trace.meta.base_ns

    return of_trace(selection.start_ns), of_trace(selection.end_ns)


def selected_steps(trace: Trace, selection: Selection) -> Bools:
    """Mask over ``trace.steps`` of the steps in the selection (``step_text.py`` has the grammar).

    Raises:
        SelectionError: the text is malformed, or no step of that name exists.
    """
    steps = trace.steps
    if selection.steps is None:
        return np.ones(steps.height, np.bool_)
    order = steps["host_start_ns"].arg_sort()
    sorted_steps = steps[order]
    mask = np.empty(steps.height, np.bool_)
    mask[order.to_numpy()] = parse_steps(
        selection.steps, sorted_steps["name"].to_list(), sorted_steps["kept"].to_numpy()
    )
    return mask


def in_selection(
    trace: Trace,
    selection: Selection,
    steps: pl.Series,
    starts_ns: pl.Series,
    slices: pl.Series | None = None,
) -> Bools:
    """Mask over rows that each have a step (row of ``trace.steps`` or null) and a start; and a
    slice, by which a phase is chosen: rows without are of every phase.

    Raises:
        SelectionError: as :func:`selected_steps` and :func:`phases_of_slices`.
    """
    numbers = indices(steps).astype(np.int32) if selection.steps is not None else _NO_NUMBERS
    mask = _mask(trace, selection, numbers, starts_ns.to_numpy())
    if selection.phase is not None and slices is not None:
        mask &= in_phase(trace, selection)[slices.to_numpy()]
    return mask


def check_phase(selection: Selection) -> None:
    """
    Raises:
        SelectionError: the selection names a phase that there is not.
    """
    if selection.phase is not None and selection.phase not in PHASES_BY_NAME:
        known = ", ".join(PHASES_BY_NAME)
        raise SelectionError(f"phase: {selection.phase[:SHOWN_CHARACTERS]!r} is none of {known}")


def in_phase(trace: Trace, selection: Selection) -> Bools:
    """Mask over ``trace.slices`` of what is of the selection's phase; all where it names none.
    Device work has the phase of its launch.

    Raises:
        SelectionError: there is no such phase, the recording tells of none, or a border names
            nothing of it.
    """
    if selection.phase is None:
        return np.ones(trace.slices.height, np.bool_)
    check_phase(selection)
    reason = no_phases(trace)
    if reason is not None and not boundaries(selection).given:
        raise SelectionError(f"phase: {reason}")
    chosen: Bools = phases_of_slices(trace, selection) == PHASES_BY_NAME[selection.phase]
    return chosen


def phases_of_slices(trace: Trace, selection: Selection) -> Int8:
    """Per slice the phase of a step that it is of, or -1, within the selection's borders.

    Raises:
        SelectionError: a border names nothing of the recording.
    """
    try:
        return bounded_phases(trace, boundaries(selection))
    except UnknownBoundaryError as error:
        raise SelectionError(str(error)) from error


def _mask(trace: Trace, selection: Selection, steps: Int32, starts_ns: Int64) -> Bools:
    """:func:`in_selection` of arrays; a row in no step has -1 in ``steps``."""
    mask = np.ones(len(starts_ns), np.bool_)
    if selection.steps is not None:
        # One place more than there are steps: -1 finds the last, False.
        mask &= np.append(selected_steps(trace, selection), False)[steps]
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        mask &= starts_ns >= first_ns
    if last_ns is not None:
        mask &= starts_ns < last_ns
    return mask


@per_split
def slice_steps(trace: Trace) -> Int32:
    """Per slice its row of ``trace.steps``, -1 for none; made once."""
    return indices(trace.slices["step"]).astype(np.int32)


@per_split
def device_work_steps(trace: Trace) -> Int32:
    """The same per row of ``trace.device_work``; made once."""
    steps: Int32 = slice_steps(trace)[trace.device_work["slice"].to_numpy()]
    return steps


class _LastMasks(Struct, eq=False):
    """The masks of the selection asked for last, which the parts of a view ask for many times; an
    attribute each, as several threads read and write them."""

    slices: tuple[Selection, Bools] | None = None
    device_work: tuple[Selection, Bools] | None = None


@per_split
def _last_masks(_trace: Trace) -> _LastMasks:
    return _LastMasks()


def slice_mask(trace: Trace, selection: Selection) -> Bools:
    """Mask over ``trace.slices`` of what is in the selection; not to be written to.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    last, known = _last_masks(trace), _last_masks(trace).slices
    if known is None or known[0] != selection:
        known = last.slices = (selection, _read_only(_slice_mask(trace, selection)))
    return known[1]


def device_work_mask(trace: Trace, selection: Selection) -> Bools:
    """Mask over ``trace.device_work`` of what is in the selection; not to be written to.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    last, known = _last_masks(trace), _last_masks(trace).device_work
    if known is None or known[0] != selection:
        known = last.device_work = (selection, _read_only(_device_work_mask(trace, selection)))
    return known[1]


def _read_only(mask: Bools) -> Bools:
    mask.setflags(write=False)
    return mask


def _slice_mask(trace: Trace, selection: Selection) -> Bools:
    mask = _mask(trace, selection, slice_steps(trace), trace.slices["start_ns"].to_numpy())
    return mask if selection.phase is None else mask & in_phase(trace, selection)


def _device_work_mask(trace: Trace, selection: Selection) -> Bools:
    starts_ns = trace.device_work["start_ns"].to_numpy()
    mask = _mask(trace, selection, device_work_steps(trace), starts_ns)
    if selection.phase is not None:
        mask &= in_phase(trace, selection)[trace.device_work["slice"].to_numpy()]
    return mask
