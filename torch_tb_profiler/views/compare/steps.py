"""The steps a comparison counts over, and sums per step with their variation."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.student import SampleMoments, moments

MAX_CELLS = 1 << 23
"""Keys × steps up to which a table of them is made (64 MB)."""


class StepBasis(Struct, frozen=True, eq=False):
    """One side of a comparison, with the steps it averages over.

    Attributes:
        trace: The trace.
        selection: What of it is counted: as asked, or narrowed to the steps when values are
            per step.
        rows: Rows of ``trace.steps`` that averages are over, of several processes' joined steps the
            first one: the whole steps of the selection, or all where none is whole.
        divisor: What values are divided by: the number of steps, or 1.
        place: Per row of ``trace.steps`` its place among ``rows``, -1 for none.
        is_observed: Whether these are whole steps: a partial step says nothing about the variation.
    """

    trace: Trace
    selection: Selection
    rows: Int64
    divisor: float
    window_row: Int64
    is_observed: bool

    @property
    def observations(self) -> int:
        """Number of whole steps for the significance test."""
        return len(self.rows) if self.is_observed else 0


def step_rows(trace: Trace, selection: Selection) -> Int64:
    """Rows of ``trace.steps`` that averages are over, one per window.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    windows = step_windows(trace, selection)
    window, first = np.unique(windows.of_step, return_index=True)
    rows: Int64 = first[np.append(windows.averaged, False)[window]]
    return rows


def has_cut_steps(trace: Trace, selection: Selection) -> bool:
    """Whether the selection holds parts of steps that averages leave out, and totals do not."""
    windows = step_windows(trace, selection)
    return bool(windows.left_out) or not windows.averaged.all()


def step_basis(trace: Trace, selection: Selection, rows: Int64, per_step: bool) -> StepBasis:
    """The basis for values per step, or for totals of the selection."""
    windows = step_windows(trace, selection)
    averaged = windows.averaged
    number = np.append(np.where(averaged, np.cumsum(averaged) - 1, -1), -1)
    window_row, is_observed = number[windows.of_step], bool(windows.whole.any())
    if not per_step or not len(rows):
        return StepBasis(trace, selection, rows, 1.0, window_row, is_observed)
    names = trace.steps["name"].gather(rows).unique(maintain_order=True).to_list()
    narrowed = replace(selection, steps=",".join(names))
    return StepBasis(trace, narrowed, rows, float(len(rows)), window_row, is_observed)


def of_whole_steps(basis: StepBasis) -> StepBasis:
    """``basis`` with values per step."""
    return step_basis(basis.trace, basis.selection, basis.rows, True)


def step_samples(
    basis: StepBasis, key: Int64, step: Int32 | Int64, value: Float64, *, keys: int
) -> SampleMoments:
    """Per key, the moments of the sums of ``value`` over the steps; a step without it counts 0.

    Args:
        basis: Which steps.
        key: Key of each event, ``0 … keys - 1``.
        step: Row of ``trace.steps`` of each event, -1 for none.
        value: Value of each event.
        keys: How many keys there are.
    """
    if not basis.is_observed:
        return unknown_samples(keys)
    size = len(basis.rows)
    at = np.append(basis.window_row, -1)[step]
    inside = at >= 0
    cell = key[inside] * size + at[inside]
    if keys * size > MAX_CELLS:
        return _sparse_moments(cell, value[inside], keys, size)
    cells = np.bincount(cell, value[inside], keys * size)
    sums: Float64 = cells.astype(np.float64).reshape(keys, size)
    return moments(sums)


def _sparse_moments(cell: Int64, value: Float64, keys: int, size: int) -> SampleMoments:
    """The moments without a cell for every step of every key; most keys are in few steps."""
    cells, position = factorize(cell)
    sums = np.bincount(position, value, len(cells))
    key = cells // size
    mean = np.bincount(key, sums, keys) / size
    deviations = np.bincount(key, (sums - mean[key]) ** 2, keys)
    absent = size - np.bincount(key, minlength=keys)
    return SampleMoments(size, mean, (deviations + absent * mean**2) / (size - 1))


def unknown_samples(keys: int) -> SampleMoments:
    """Samples of ``keys`` things of which no step is known."""
    return moments(np.empty((keys, 0)))
