"""Operators and device work by what they have to do with Tensor Cores: classes that add up.

Definitions: ``docs/metrics.md#classes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.call_tree import call_tree
from torch_tb_profiler.analysis.forests import indices, with_ancestors
from torch_tb_profiler.analysis.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.operator_identity import operator_identity
from torch_tb_profiler.analysis.operators_by_name import chosen_calls
from torch_tb_profiler.analysis.selection import Selection, device_work_mask
from torch_tb_profiler.knowledge import operators
from torch_tb_profiler.trace.columns import Bools, Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_cut, per_trace
from torch_tb_profiler.trace.model import Trace


class OperatorClass(IntEnum):
    """What an operator has to do with Tensor Cores."""

    USING = 0
    ELIGIBLE = 1
    OTHER = 2


class KernelClass(IntEnum):
    """What a piece of device work is."""

    USING = 0
    MEMORY = 1
    OTHER = 2


@dataclass(frozen=True, slots=True, eq=False)
class OperatorClasses:
    """Operators of a selection, per :class:`OperatorClass`.

    Attributes:
        gpu_ns: Device work that they launched themselves; adds up to that of the selection.
        cpu_ns: Time of their calls on the host, without the calls of operators inside.
        count: How many there are.
        unknown_ns: Part of ``gpu_ns`` in kernels of which no rule knows whether they use Tensor
            Cores.
        eligible_kernel_ns: Kernel time of those that use Tensor Cores or could.
        using_kernel_ns: The part of it in kernels that use them.
    """

    gpu_ns: Int64
    cpu_ns: Int64
    count: Int64
    unknown_ns: Int64
    eligible_kernel_ns: int
    using_kernel_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class KernelClasses:
    """Device work of a selection, per :class:`KernelClass`.

    Attributes:
        gpu_ns: Its time.
        api_ns: Time on the host of the calls that launched it; what one call launched shares it.
        count: How many kernels, or copies and sets, there are.
        unknown_ns: Part of ``gpu_ns`` in kernels of which no rule knows whether they use Tensor
            Cores.
    """

    gpu_ns: Int64
    api_ns: Int64
    count: Int64
    unknown_ns: Int64


def operator_classes(trace: Trace, selection: Selection) -> OperatorClasses:
    """The operators with a call or device work in ``selection``, by class.

    Device work that no operator launched counts as that of one operator for each of its names.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree, kinds, traits = call_tree(trace), kernel_kinds(trace), _operator_traits(trace)
    work = device_work_mask(trace, selection)
    duration = trace.device_work["dur_ns"].to_numpy()
    count = len(traits.is_eligible)
    own = np.flatnonzero(work & tree.is_own)
    operator = traits.of_call[tree.owner[own]]
    is_used = kinds.tensor_core == codes.YES
    is_unknown = kinds.is_kernel & (kinds.tensor_core == codes.UNKNOWN)

    def summed(marked: Bools) -> Int64:
        chosen = marked[own]
        return _sums(operator[chosen], duration[own[chosen]], count)

    gpu, used = summed(work), summed(is_used)
    calls = chosen_calls(trace, selection)
    cpu = _sums(traits.of_call[calls], self_times(trace)[calls], count)
    launches = np.bincount(operator, minlength=count) > 0
    is_there = launches | (np.bincount(traits.of_call[calls], minlength=count) > 0)
    can = np.where(launches, traits.is_eligible, traits.is_eligible_inside)
    uses = np.where(launches, used > 0, traits.is_used_inside)
    classes = np.where(
        uses, OperatorClass.USING, np.where(can, OperatorClass.ELIGIBLE, OperatorClass.OTHER)
    )
    outside = np.flatnonzero(work & ~tree.is_own)
    outside_classes = np.where(is_used, OperatorClass.USING, OperatorClass.OTHER)[outside]
    names = trace.device_work["name_code"].to_numpy()[outside]
    size = len(OperatorClass)
    return OperatorClasses(
        gpu_ns=_sums(classes, gpu, size) + _sums(outside_classes, duration[outside], size),
        cpu_ns=_sums(classes, cpu, size),
        count=np.bincount(classes[is_there], minlength=size)
        + _distinct(names, outside_classes, size),
        unknown_ns=_sums(classes, summed(is_unknown), size)
        + _sums(outside_classes, np.where(is_unknown, duration, 0)[outside], size),
        eligible_kernel_ns=int(summed(kinds.is_kernel)[classes != OperatorClass.OTHER].sum()),
        using_kernel_ns=int(used.sum()),
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
    is_unknown = kinds.is_kernel[rows] & (used == codes.UNKNOWN)
    size = len(KernelClass)
    return KernelClasses(
        gpu_ns=_sums(classes, duration, size),
        api_ns=_sums(classes, launch_shares(trace)[rows], size),
        count=np.bincount(classes, minlength=size),
        unknown_ns=_sums(classes[is_unknown], duration[is_unknown], size),
    )


@per_trace
def self_times(trace: Trace) -> Int64:
    """Per call of :func:`~torch_tb_profiler.analysis.call_tree.call_tree` its time on the host in
    ns without the calls inside it, never below 0; made once."""
    tree = call_tree(trace)
    duration = trace.slices["dur_ns"].to_numpy()[tree.slice]
    end = trace.slices["start_ns"].to_numpy()[tree.slice] + duration
    inside = np.flatnonzero(tree.parent >= 0)
    around = tree.parent[inside]
    # What crosses the end of the call around it is inside up to there.
    part = duration[inside] - np.maximum(end[inside] - end[around], 0)
    covered = _sums(around, np.maximum(part, 0), len(duration))
    return np.maximum(duration - covered, 0)


@per_trace
def launch_shares(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` its share in ns of the call that launched it, 0 where the
    file does not tell; the shares of one call add up to its duration. Made once."""
    launch = indices(trace.device_work["launch"])
    known = np.flatnonzero(launch >= 0)
    shares = np.zeros(len(launch), np.int64)
    rows = known[np.argsort(launch[known], kind="stable")]
    calls, first, number = np.unique(launch[rows], return_index=True, return_counts=True)
    duration = trace.slices["dur_ns"].to_numpy()[calls]
    each = np.repeat(duration // number, number)
    place = np.arange(len(rows)) - np.repeat(first, number)
    shares[rows] = each + (place < np.repeat(duration % number, number))
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Traits:
    """What is known of operators, whatever is selected.

    Attributes:
        of_call: Per call of the call tree its operator.
        is_eligible: Per operator whether its name says that it could use Tensor Cores.
        is_eligible_inside: Whether it or an operator inside one of its calls could.
        is_used_inside: Whether a kernel launched inside one of its calls does.
    """

    of_call: Int64
    is_eligible: Bools
    is_eligible_inside: Bools
    is_used_inside: Bools


@per_cut
def _operator_traits(trace: Trace) -> _Traits:
    tree = call_tree(trace)
    identity = operator_identity(trace)
    of_call, count = identity.operator, identity.count
    by_name = codes.of_names(
        trace,
        identity.name_code,
        lambda name: codes.verdict(operators.tensor_core_eligible(name)),
        np.int8,
    )
    owner = tree.owner[(kernel_kinds(trace).tensor_core == codes.YES) & (tree.owner >= 0)]
    uses = np.zeros(len(of_call), np.bool_)
    uses[with_ancestors(np.unique(owner), tree.parent)] = True
    inside: Int8 = eligible_slices(trace)[tree.slice]

    def marked(calls: Bools) -> Bools:
        found = np.zeros(count, np.bool_)
        found[of_call[calls]] = True
        return found

    return _Traits(of_call, by_name == codes.YES, marked(inside == codes.YES), marked(uses))


def _distinct(names: Int32, classes: Int64, size: int) -> Int64:
    """How many different names there are, per class."""
    pairs = np.unique(names.astype(np.int64) * size + classes)
    return np.bincount(pairs % size, minlength=size)


def _sums(places: Int64, values: Int64, count: int) -> Int64:
    """Sum of ``values`` per place, exact."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, places, values)
    return sums
