"""The steps a comparison counts over, and sums per step with their variation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.step_windows import step_windows
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.student import Samples, moments

MAX_CELLS = 1 << 23
"""Keys × steps up to which a table of them is made (64 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class StepBasis:
    """One side of a comparison, with the steps it averages over.

    Attributes:
        trace: The trace.
        selection: What of it is counted: as asked, or narrowed to the steps when values are
            per step.
        rows: Rows of ``trace.steps`` in the selection, of several processes' joined steps the first
            one; the last incomplete ones are left out.
        divisor: What values are divided by: the number of steps, or 1.
        place: Per row of ``trace.steps`` its place among ``rows``, -1 for none.
    """

    trace: Trace
    selection: Selection
    rows: Int64
    divisor: float
    place: Int64


def step_rows(trace: Trace, selection: Selection) -> Int64:
    """Rows of ``trace.steps`` that :func:`step_windows` holds, one per window.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    window, first = np.unique(step_windows(trace, selection).of_step, return_index=True)
    return first[window >= 0]


def step_basis(trace: Trace, selection: Selection, rows: Int64, per_step: bool) -> StepBasis:
    """The basis for values per step, or for totals of the selection."""
    place = step_windows(trace, selection).of_step
    if not per_step or not len(rows):
        return StepBasis(trace, selection, rows, 1.0, place)
    names = trace.steps["name"].gather(rows).unique(maintain_order=True).to_list()
    narrowed = replace(selection, steps=",".join(names))
    return StepBasis(trace, narrowed, rows, float(len(rows)), place)


def step_samples(
    basis: StepBasis, key: Int64, step: Int32 | Int64, value: Float64, *, keys: int
) -> Samples:
    """Per key, the moments of the sums of ``value`` over the steps; a step without it counts 0.

    Args:
        basis: Which steps.
        key: Key of each event, ``0 … keys - 1``.
        step: Row of ``trace.steps`` of each event, -1 for none.
        value: Value of each event.
        keys: How many keys there are.
    """
    size = len(basis.rows)
    at = np.append(basis.place, -1)[step]
    inside = at >= 0
    cell = key[inside] * size + at[inside]
    if keys * size > MAX_CELLS:
        return _sparse_moments(cell, value[inside], keys, size)
    cells = np.bincount(cell, value[inside], keys * size)
    sums: Float64 = cells.astype(np.float64).reshape(keys, size)
    return moments(sums)


def _sparse_moments(cell: Int64, value: Float64, keys: int, size: int) -> Samples:
    """The moments without a cell for every step of every key; most keys are in few steps."""
    cells, place = np.unique(cell, return_inverse=True)
    sums = np.bincount(place, value, len(cells))
    key = cells // size
    mean = np.bincount(key, sums, keys) / size
    deviations = np.bincount(key, (sums - mean[key]) ** 2, keys)
    absent = size - np.bincount(key, minlength=keys)
    return Samples(size, mean, (deviations + absent * mean**2) / (size - 1))


def unknown_samples(keys: int) -> Samples:
    """Samples of ``keys`` things of which no step is known."""
    return moments(np.empty((keys, 0)))
