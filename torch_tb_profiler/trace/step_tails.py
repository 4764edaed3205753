"""Detect incomplete last steps of a recording (``docs/metrics.md#steps``)."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.ordering import OrderedSlices

TAIL_SHARE = 0.8
"""The last step is incomplete if it has less than this share of the work of every other step: the
recording ended before all of it was seen."""

STUB_SHARE = 0.1
"""A last step on the host with less than this share of the operators and of the time of every other
step is incomplete, whatever its operators are."""

SAME_SHARE = 0.9
"""Minimum share of the operators of a cut step that match the beginning of the step before; a call
that was open when the recording stopped is missing, so not all need to match."""

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)


def complete_by_device_work(device_events: Int64) -> Bools:
    """False for the last steps of a sequence whose device work is missing or incomplete.

    Args:
        device_events: Device events per step; some step has one.
    """
    is_complete = np.ones(len(device_events), np.bool_)
    with_work = np.flatnonzero(device_events)
    if len(device_events) <= 1 or len(with_work) == 0:
        return is_complete
    last = with_work[-1]
    is_complete[last + 1 :] = False
    # The first step may be short for other reasons: it is used only if there is no other.
    others = with_work[1:-1] if len(with_work) > 2 else with_work[:-1]
    if len(others) and device_events[last] < TAIL_SHARE * device_events[others].min():
        is_complete[last] = False
    return is_complete


def complete_by_host_work(slices: OrderedSlices, step_slices: Int64, operators: Int64) -> Bools:
    """False for the last step of a sequence without device work if the recording ended in it.

    Such a step has fewer operators than any other, and either begins like the one before it or is
    almost empty. A last step that does the same work faster, or other work, is complete.

    Args:
        slices: All slices.
        step_slices: The slices of the steps of the sequence, in time order.
        operators: Operators per step, on all threads.
    """
    is_complete = np.ones(len(step_slices), np.bool_)
    if len(step_slices) <= 1 or not operators[:-1].any():
        return is_complete
    fewest, last = operators[:-1].min(), operators[-1]
    if last < TAIL_SHARE * fewest:
        dur_ns = slices.dur_ns[step_slices]
        is_short = dur_ns[-1] < STUB_SHARE * dur_ns[:-1].min()
        is_stub = is_short and last < STUB_SHARE * fewest
        is_complete[-1] = not (is_stub or _begins_like(slices, *step_slices[-2:].tolist()))
    return is_complete


def _begins_like(slices: OrderedSlices, before: int, last: int) -> bool:
    """Whether the operators of ``last`` on its thread match the beginning of ``before``."""
    whole, part = (_names(slices, step) for step in (before, last))
    if not 0 < len(part) < len(whole):
        return False
    differ = np.flatnonzero(whole[: len(part)] != part)
    same = len(part) if len(differ) == 0 else int(differ[0])
    return same >= SAME_SHARE * len(part)


def _names(slices: OrderedSlices, step: int) -> Int64:
    """Names of the operators of a step on its own thread, in order of start."""
    first, last = np.searchsorted(slices.track, (slices.track[step], slices.track[step] + 1))
    starts = slices.start_ns[first:last]
    low, high = first + np.searchsorted(starts, (slices.start_ns[step], slices.end_ns[step]))
    inside = slices.mask_of(_OPERATORS)[low:high]
    names: Int64 = slices.name_code[low:high][inside].astype(np.int64)
    return names


def count_operators(slices: OrderedSlices, row: Int64, count: int) -> Int64:
    """Operators per step; ``row`` is the step of each slice, -1 for none."""
    rows = row[slices.mask_of(_OPERATORS)]
    operators: Int64 = np.bincount(rows[rows >= 0], minlength=count).astype(np.int64)
    return operators
