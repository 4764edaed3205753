"""Operators and device work by their use of Tensor Cores, in classes that add up.

Definitions: ``docs/metrics.md#classes``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.analysis.operators.by_name import chosen_calls
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge import operators
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class OperatorClass(IntEnum):
    """Whether an operator uses Tensor Cores, or could."""

    USING = 0
    ELIGIBLE = 1
    OTHER = 2


class KernelClass(IntEnum):
    """The class of a piece of device work."""

    USING = 0
    MEMORY = 1
    OTHER = 2


class OperatorClasses(Struct, frozen=True, eq=False):
    """Operators of a selection, per :class:`OperatorClass` of their calls.

    Attributes:
        gpu_ns: Device work that they launched themselves; adds up to that of the selection.
        cpu_ns: Time of their calls on the host, without the calls of operators inside.
        count: Number of distinct names; one with calls of several classes counts in each.
        unknown_ns: Part of ``gpu_ns`` in kernels whose use of Tensor Cores no rule knows.
        eligible_kernel_ns: Kernel time of operators that use Tensor Cores or could.
        using_kernel_ns: The part of it in kernels that use them.
    """

    gpu_ns: Int64
    cpu_ns: Int64
    count: Int64
    unknown_ns: Int64
    eligible_kernel_ns: int
    using_kernel_ns: int


class KernelClasses(Struct, frozen=True, eq=False):
    """Device work of a selection, per :class:`KernelClass`.

    Attributes:
        gpu_ns: Its time.
        api_ns: Host time of the calls that launched it; divided among the work of one call.
        count: Number of kernels, or of copies and memsets.
        names: Number of different names of those.
        unknown_ns: Part of ``gpu_ns`` in kernels whose use of Tensor Cores no rule knows.
    """

    gpu_ns: Int64
    api_ns: Int64
    count: Int64
    names: Int64
    unknown_ns: Int64


def operator_classes(trace: Trace, selection: Selection) -> OperatorClasses:
    """The operators with a call or device work in ``selection``, by class of their calls.

    Device work that no operator launched counts as one operator per name.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree, kinds = call_tree(trace), kernel_kinds(trace)
    class_of_call = call_classes(trace)
    work = np.flatnonzero(device_work_mask(trace, selection))
    duration = trace.device_work["dur_ns"].to_numpy()[work]
    is_used = kinds.tensor_core[work] == codes.YES
    is_unknown = kinds.is_kernel[work] & (kinds.tensor_core[work] == codes.UNKNOWN)
    is_own, owner = tree.is_own[work], tree.owner[work]
    outside = np.where(is_used, OperatorClass.USING, OperatorClass.OTHER)
    classes = np.where(is_own, gather(class_of_call, owner), outside)
    calls = chosen_calls(trace, selection)
    shown = calls.copy()
    shown[owner[is_own]] = True
    names_outside = indices(trace.device_work["name_code"])[work[~is_own]]
    is_eligible = is_own & (classes != OperatorClass.OTHER) & kinds.is_kernel[work]
    size = len(OperatorClass)
    return OperatorClasses(
        gpu_ns=_sums(classes, duration, size),
        cpu_ns=_sums(class_of_call[calls], self_times(trace)[calls], size),
        count=_distinct(_names_and_classes(trace)[shown], size)
        + _distinct(names_outside * size + outside[~is_own], size),
        unknown_ns=_sums(classes[is_unknown], duration[is_unknown], size),
        eligible_kernel_ns=int(duration[is_eligible].sum()),
        using_kernel_ns=int(duration[is_eligible & is_used].sum()),
    )


def kernel_classes(trace: Trace, selection: Selection) -> KernelClasses:
    """The device work of ``selection``, by class.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(device_work_mask(trace, selection))
    used = kinds.tensor_core[rows]
    classes = np.where(
        kinds.is_kernel[rows],
        np.where(used == codes.YES, KernelClass.USING, KernelClass.OTHER),
        KernelClass.MEMORY,
    )
    duration = trace.device_work["dur_ns"].to_numpy()[rows]
    names = indices(trace.device_work["name_code"])[rows]
    is_unknown = kinds.is_kernel[rows] & (used == codes.UNKNOWN)
    size = len(KernelClass)
    return KernelClasses(
        gpu_ns=_sums(classes, duration, size),
        api_ns=_sums(classes, launch_shares(trace)[rows], size),
        count=np.bincount(classes, minlength=size),
        names=_distinct(names * size + classes, size),
        unknown_ns=_sums(classes[is_unknown], duration[is_unknown], size),
    )


@per_trace
def self_times(trace: Trace) -> Int64:
    """Per call of ``analysis.operators.call_tree.call_tree`` its time on the host in ns without the
    calls inside it, never below 0."""
    tree = call_tree(trace)
    duration = trace.slices["dur_ns"].to_numpy()[tree.slice]
    end = trace.slices["start_ns"].to_numpy()[tree.slice] + duration
    inside = np.flatnonzero(tree.parent >= 0)
    around = tree.parent[inside]
    # A call that crosses the end of the one around it is inside up to there.
    part = duration[inside] - np.maximum(end[inside] - end[around], 0)
    covered = _sums(around, np.maximum(part, 0), len(duration))
    return np.maximum(duration - covered, 0)


@per_trace
def launch_shares(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` its share in ns of the call that launched it, 0 where that
    is unknown; the shares of one call add up to its duration."""
    launch = indices(trace.device_work["launch"])
    known = np.flatnonzero(launch >= 0)
    shares = np.zeros(len(launch), np.int64)
    rows = known[np.argsort(launch[known], kind="stable")]
    calls, first, number = np.unique(launch[rows], return_index=True, return_counts=True)
    duration = trace.slices["dur_ns"].to_numpy()[calls]
    each = np.repeat(duration // number, number)
    position = np.arange(len(rows)) - np.repeat(first, number)
    shares[rows] = each + (position < np.repeat(duration % number, number))
    return shares


@per_trace
def call_classes(trace: Trace) -> Int64:
    """Per call of the call tree its :class:`OperatorClass`: that of the work it launched itself,
    else that of the calls inside it."""
    tree = call_tree(trace)
    names = trace.slices["name_code"].to_numpy()[tree.slice]
    by_name = codes.map_names(
        trace, names, lambda name: codes.verdict(operators.tensor_core_eligible(name)), np.int8
    )
    is_used = kernel_kinds(trace).tensor_core == codes.YES
    launches, uses, uses_inside = (np.zeros(len(names), np.bool_) for _ in range(3))
    launches[tree.owner[tree.is_own]] = True
    uses[tree.owner[tree.is_own & is_used]] = True
    uses_inside[
        with_ancestors(distinct_values(tree.owner[is_used & (tree.owner >= 0)]), tree.parent)
    ] = True
    inside = eligible_slices(trace)[tree.slice]
    is_eligible = np.where(launches, by_name, inside) == codes.YES
    classes: Int64 = np.where(
        np.where(launches, uses, uses_inside),
        OperatorClass.USING,
        np.where(is_eligible, OperatorClass.ELIGIBLE, OperatorClass.OTHER),
    )
    return classes


@per_trace
def _names_and_classes(trace: Trace) -> Int64:
    """Per call of the call tree one id for its name and class."""
    names = indices(trace.slices["name_code"])[call_tree(trace).slice]
    return names * len(OperatorClass) + call_classes(trace)


def _distinct(names_and_classes: Int64, size: int) -> Int64:
    """Number of distinct names per class; each id is ``name × size + class``."""
    present = np.flatnonzero(np.bincount(names_and_classes))
    return np.bincount(present % size, minlength=size)


def _sums(group: Int64, values: Int64, count: int) -> Int64:
    """Exact sum of ``values`` per group."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums
