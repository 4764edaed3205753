"""The operators of iterations, and the device work of an iteration or of an operator in it.

Definitions: ``docs/views-iterations.md#how-it-is-counted``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import (
    call_tree,
    device_sums_of_calls,
    sums_of_calls,
)
from torch_tb_profiler.analysis.operators.identity import operator_identity
from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.iterations.windows import all_windows, iterations
from torch_tb_profiler.analysis.steps.masks import device_work_steps, slice_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

_SHOWN = 40
"""How much of a text from outside an error repeats."""


def chosen_windows(trace: Trace, selection: Selection, iteration: str | None) -> Bools:
    """Which windows of ``all_windows`` are listed: that of the name ``iteration``, else the
    selected ones.

    Raises:
        SelectionError: there is no such iteration, or as ``selected_steps``.
    """
    if iteration is None:
        return iterations(trace, selection).selected
    names = all_windows(trace).names
    chosen = np.array([name == iteration for name in names], np.bool_)
    if not chosen.any():
        raise SelectionError(
            f"iteration: no iteration {iteration[:_SHOWN]!r} in this trace; it has "
            f"{', '.join(name[:_SHOWN] for name in names[:5]) or 'none'}"
            + (" …" if len(names) > 5 else "")
        )
    return chosen


class Unassociated(Struct, frozen=True, eq=False):
    """Device work that no operator launched.

    Attributes:
        row: Its rows of ``trace.device_work``.
        name_code: Of each the name of the host call that launched it, else its own.
        launch: Slice of that call, -1 where the file does not tell.
        starts: Whether it is the first of its launch.
    """

    row: Int64
    name_code: Int64
    launch: Int64
    starts: Bools


@per_trace
def unassociated(trace: Trace) -> Unassociated:
    """The device work outside every operator; made once."""
    work = trace.device_work
    rows = np.flatnonzero(call_tree(trace).owner < 0)
    launch = indices(work["launch"])[rows]
    own = work["name_code"].to_numpy()[rows]
    names = trace.slices["name_code"].to_numpy()
    starts = np.ones(len(rows), np.bool_)
    known = np.flatnonzero(launch >= 0)
    starts[known] = False
    starts[known[np.unique(launch[known], return_index=True)[1]]] = True
    name = np.where(launch >= 0, names[launch], own).astype(np.int64)
    return Unassociated(rows, name, launch, starts)


@per_trace
def _calls(trace: Trace) -> pl.DataFrame:
    """What is counted of operators: one row per call of ``call_tree``, then one per piece of device
    work outside every call; made once.

    Columns: slice (the call, or what launched the work), start_ns (of that), duration_ns (0 for
    what an earlier row has), and of the device work inside kernels, gpu_ns and tensor_core_ns.
    """
    tree, kinds = call_tree(trace), kernel_kinds(trace)
    start, length = (trace.slices[key].to_numpy() for key in ("start_ns", "dur_ns"))
    outside, duration = unassociated(trace), trace.device_work["dur_ns"].to_numpy()
    has_launch = outside.launch >= 0
    own = trace.device_work["slice"].to_numpy()[outside.row]
    source = np.where(has_launch, outside.launch, own)
    uses = kinds.tensor_core == codes.YES
    sums = (
        sums_of_calls(tree, kinds.is_kernel)[1],
        device_sums_of_calls(trace, np.ones_like(uses))[1],
        device_sums_of_calls(trace, uses)[1],
    )
    alone = (kinds.is_kernel.astype(np.int64), duration, np.where(uses, duration, 0))
    slices = np.concatenate((tree.slice, source))
    lengths = np.where(outside.starts & has_launch, length[source], 0)
    frame = {
        "slice": slices,
        "start_ns": start[slices],
        "duration_ns": np.concatenate((length[tree.slice], lengths)),
    }
    for key, inside, each in zip(("kernels", "gpu_ns", "tensor_core_ns"), sums, alone, strict=True):
        frame[key] = np.concatenate((inside, each[outside.row]))
    return pl.DataFrame(frame)


@per_split
def _windows_and_operators(trace: Trace) -> tuple[Int64, Int64]:
    """Per row of :func:`_calls` its iteration, of ``all_windows``, and its operator: that of
    ``operator_identity``, or -2 - the name of what launched the work."""
    windows = np.append(all_windows(trace).of_step, -1)
    outside = unassociated(trace)
    window = np.concatenate(
        (
            windows[slice_steps(trace)[call_tree(trace).slice]],
            windows[device_work_steps(trace)[outside.row]],
        )
    )
    operator = np.concatenate((operator_identity(trace).operator, -2 - outside.name_code))
    return window, operator


class IterationOperators(Struct, frozen=True, eq=False):
    """The operators of the iterations that are looked at; their rows are made when asked for.

    Attributes:
        trace: The recording.
        counts: How many operators each iteration has, of those that are looked at; else 0.
    """

    trace: Trace
    counts: Int64

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def first(self, rows: int) -> pl.DataFrame:
        """The first ``rows``: one per operator of an iteration, by iteration and first start.

        Columns: window (of ``all_windows``), operator (of ``operator_identity``; -2 - the code of
        the name of what launched device work outside every operator), slice (of its first call),
        start_ns (of that), duration_ns (of its calls in the iteration), kernels, gpu_ns,
        tensor_core_ns (of the device work launched inside them), calls.
        """
        before = np.cumsum(self.counts) - self.counts
        needed = (self.counts > 0) & (before < rows)
        window, operator = _windows_and_operators(self.trace)
        chosen = np.flatnonzero(np.append(needed, False)[window])
        frame = _calls(self.trace)[chosen].with_columns(
            window=pl.Series(window[chosen]), operator=pl.Series(operator[chosen])
        )
        sums = ("duration_ns", "kernels", "gpu_ns", "tensor_core_ns")
        grouped = (
            frame.sort("window", "start_ns", "slice")
            .group_by("window", "operator", maintain_order=True)
            .agg(
                pl.col("slice", "start_ns").first(),
                pl.col(*sums).sum(),
                pl.len().cast(pl.Int64).alias("calls"),
            )
        )
        return grouped.head(rows)


_LARGEST_TABLE = 20_000_000
"""Places of a table of iterations and operators; of more the pairs there are get sorted."""


def operators_of_iterations(
    trace: Trace, selection: Selection, iteration: str | None = None
) -> IterationOperators:
    """The operators of the windows of :func:`chosen_windows`.

    Raises:
        SelectionError: as :func:`chosen_windows`.
    """
    chosen = chosen_windows(trace, selection, iteration)
    window, operator = _windows_and_operators(trace)
    rows = np.flatnonzero(np.append(chosen, False)[window])
    lowest = int(operator.min(initial=0))
    width = int(operator.max(initial=0)) - lowest + 1
    if len(chosen) * width <= _LARGEST_TABLE:
        is_there = np.zeros((len(chosen), width), np.bool_)
        is_there[window[rows], operator[rows] - lowest] = True
        counts = is_there.sum(axis=1)
    else:
        pairs = distinct_values(window[rows] * width + operator[rows] - lowest)
        counts = np.bincount(pairs // width, minlength=len(chosen))
    return IterationOperators(trace, counts.astype(np.int64))


class IterationWork(Struct, frozen=True, eq=False):
    """Device work, by iteration and start.

    Attributes:
        row: Rows of ``trace.device_work``.
        window: Iteration of each, of ``all_windows``; -1 for none.
        operator: The innermost operator each was launched in; -2 - a name as in
            :class:`IterationOperators` outside every one.
        call: Slice of the call of that operator, -1 outside.
    """

    row: Int64
    window: Int64
    operator: Int64
    call: Int64


def work_of_iterations(
    trace: Trace,
    selection: Selection,
    iteration: str | None = None,
    operator_id: str | None = None,
) -> IterationWork:
    """The kernels, copies and memsets that were launched in the windows of :func:`chosen_windows`,
    without a selection also those whose launch, and so whose window, is not recorded; with
    ``operator_id`` those launched inside that operator.

    Raises:
        SelectionError: there is no such operator, or as :func:`chosen_windows`.
    """
    tree, work = call_tree(trace), trace.device_work
    windows = np.append(all_windows(trace).of_step, -1)[device_work_steps(trace)]
    has_unknown = iteration is None and selection.is_everything
    chosen = np.append(chosen_windows(trace, selection, iteration), has_unknown)[windows]
    operator = gather(operator_identity(trace).operator, tree.owner)
    outside = unassociated(trace)
    operator[outside.row] = -2 - outside.name_code
    if operator_id is not None:
        chosen &= _inside_operator(trace, operator_id, operator)
    rows = np.flatnonzero(chosen)
    start = work["start_ns"].to_numpy()[rows]
    rows = rows[np.lexsort((rows, start, windows[rows], windows[rows] < 0))]
    return IterationWork(rows, windows[rows], operator[rows], gather(tree.slice, tree.owner[rows]))


def _inside_operator(trace: Trace, operator_id: str, operator: Int64) -> Bools:
    """Which device work was launched inside the operator of an id."""
    if operator_id.startswith(UNASSOCIATED):
        name = operator_id.removeprefix(UNASSOCIATED)
        present = distinct_values(-2 - operator[operator < -1])
        named = [code for code in present.tolist() if str(trace.strings[code]) == name]
        if named:
            return np.isin(-2 - operator, named)
    else:
        identity, tree = operator_identity(trace), call_tree(trace)
        number = identity.find(operator_id)
        if number is not None:
            around = nearest_marked(tree.parent, identity.operator == number)
            return gather(around, tree.owner) >= 0
    raise SelectionError(f"operator_id: no operator {operator_id[:_SHOWN]!r} in this trace")
