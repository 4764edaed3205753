"""The operators of iterations, and the device work of an iteration or of an operator in it.

Definitions: ``docs/views-iterations.md#how-it-is-counted``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.call_tree import call_tree, device_sums_of_calls, sums_of_calls
from torch_tb_profiler.analysis.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.iterations.windows import all_windows, iterations
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.operator_identity import operator_identity
from torch_tb_profiler.analysis.selection import (
    Selection,
    SelectionError,
    device_work_steps,
    slice_steps,
)
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_cut, per_trace
from torch_tb_profiler.trace.model import Trace

_SHOWN = 40
"""How much of a text from outside an error repeats."""

UNASSOCIATED = "unassociated_"
"""Before the name of the host call, or else of the kernel, of device work that no operator
launched: it counts as the work of an operator of that name."""


@per_trace
def _sums(trace: Trace) -> pl.DataFrame:
    """Per call of ``call_tree`` its device work, calls inside included: ``kernels``, ``gpu_ns``,
    ``tensor_core_ns``; made once."""
    kinds = kernel_kinds(trace)
    uses = kinds.tensor_core == codes.YES
    return pl.DataFrame(
        {
            "kernels": sums_of_calls(call_tree(trace), kinds.is_kernel)[1],
            "gpu_ns": device_sums_of_calls(trace, np.ones_like(uses))[1],
            "tensor_core_ns": device_sums_of_calls(trace, uses)[1],
        }
    )


def chosen_windows(trace: Trace, selection: Selection) -> Bools:
    """Which windows of ``all_windows`` are looked at: that of ``selection.iteration``, else the
    selected ones.

    Raises:
        SelectionError: there is no such iteration, or as ``selected_steps``.
    """
    if selection.iteration is None:
        return iterations(trace, selection).selected
    names = all_windows(trace).names
    chosen = np.array([name == selection.iteration for name in names], np.bool_)
    if not chosen.any():
        raise SelectionError(
            f"iteration: no iteration {selection.iteration[:_SHOWN]!r} in this trace; it has "
            f"{', '.join(name[:_SHOWN] for name in names[:5]) or 'none'}"
            + (" …" if len(names) > 5 else "")
        )
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Unassociated:
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


@per_cut
def _operators(trace: Trace) -> pl.DataFrame:
    """Of all iterations what :func:`operators_of_iterations` tells; made once."""
    windows = np.append(all_windows(trace).of_step, -1)
    calls = call_tree(trace).slice
    frame = pl.DataFrame(
        {
            "window": windows[slice_steps(trace)[calls]],
            "operator": operator_identity(trace).operator,
            "slice": calls,
            "start_ns": trace.slices["start_ns"].to_numpy()[calls],
            "duration_ns": trace.slices["dur_ns"].to_numpy()[calls],
        }
    ).hstack(_sums(trace))
    every = pl.concat([frame, _unassociated_rows(trace, windows)])
    sums = ("duration_ns", "kernels", "gpu_ns", "tensor_core_ns")
    grouped = (
        every.filter(pl.col("window") >= 0)
        .group_by("window", "operator")
        .agg(
            pl.col("slice").first(),
            pl.col("start_ns").min(),
            pl.col(*sums).sum(),
            pl.len().alias("calls"),
        )
    )
    return grouped.sort("window", "start_ns", "slice")


def _unassociated_rows(trace: Trace, windows: Int64) -> pl.DataFrame:
    """The same columns of device work outside every operator: ``operator`` is -2 - its name."""
    outside, work, kinds = unassociated(trace), trace.device_work, kernel_kinds(trace)
    host_ns = trace.slices["dur_ns"].to_numpy()
    duration = work["dur_ns"].to_numpy()[outside.row]
    has_launch = outside.launch >= 0
    source = np.where(has_launch, outside.launch, work["slice"].to_numpy()[outside.row])
    uses = kinds.tensor_core[outside.row] == codes.YES
    return pl.DataFrame(
        {
            "window": windows[device_work_steps(trace)[outside.row]],
            "operator": -2 - outside.name_code,
            "slice": source,
            "start_ns": trace.slices["start_ns"].to_numpy()[source],
            "duration_ns": np.where(outside.starts & has_launch, host_ns[source], 0),
            "kernels": kinds.is_kernel[outside.row].astype(np.int64),
            "gpu_ns": duration,
            "tensor_core_ns": np.where(uses, duration, 0),
        }
    )


def operators_of_iterations(trace: Trace, selection: Selection) -> pl.DataFrame:
    """One row per operator of each iteration that is looked at, by iteration and first start.

    Columns: window (of ``all_windows``), operator (of ``operator_identity``; -2 - the code of the
    name for device work outside every operator), slice (of its first call), start_ns (of that),
    duration_ns (of its calls in the iteration), kernels, gpu_ns, tensor_core_ns (of the device work
    launched inside them), calls.

    Raises:
        SelectionError: as :func:`chosen_windows`.
    """
    frame = _operators(trace)
    return frame.filter(pl.Series(chosen_windows(trace, selection)[frame["window"].to_numpy()]))


@dataclass(frozen=True, slots=True, eq=False)
class IterationWork:
    """Device work, by iteration and start.

    Attributes:
        row: Rows of ``trace.device_work``.
        window: Iteration of each, of ``all_windows``.
        operator: The innermost operator each was launched in; -2 - a name as in
            :func:`operators_of_iterations` outside every one.
        call: Slice of the call of that operator, -1 outside.
    """

    row: Int64
    window: Int64
    operator: Int64
    call: Int64


def work_of_iterations(trace: Trace, selection: Selection) -> IterationWork:
    """The kernels, copies and sets that were launched in the iterations that are looked at; with
    ``selection.operator_id`` those launched inside that operator.

    Raises:
        SelectionError: there is no such operator, or as :func:`chosen_windows`.
    """
    tree, work = call_tree(trace), trace.device_work
    windows = np.append(all_windows(trace).of_step, -1)[device_work_steps(trace)]
    chosen = np.append(chosen_windows(trace, selection), False)[windows]
    operator = gather(operator_identity(trace).operator, tree.owner)
    outside = unassociated(trace)
    operator[outside.row] = -2 - outside.name_code
    if selection.operator_id is not None:
        chosen &= _inside_operator(trace, selection.operator_id, operator)
    rows = np.flatnonzero(chosen)
    start = work["start_ns"].to_numpy()[rows]
    rows = rows[np.lexsort((rows, start, windows[rows]))]
    return IterationWork(rows, windows[rows], operator[rows], gather(tree.slice, tree.owner[rows]))


def _inside_operator(trace: Trace, operator_id: str, operator: Int64) -> Bools:
    """Which device work was launched inside the operator of an id."""
    if operator_id.startswith(UNASSOCIATED):
        name = operator_id.removeprefix(UNASSOCIATED)
        present = np.unique(-2 - operator[operator < -1])
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
