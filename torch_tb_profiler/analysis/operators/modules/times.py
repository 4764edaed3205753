"""What each call of a module cost: host and device time, forward and backward, operators."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import (
    gather,
    indices,
    nearest_marked,
    with_descendants,
)
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import (
    LIGHTNING_MODULE,
    LIGHTNING_PROFILE,
    ModuleTree,
    is_lightning,
    module_tree,
    name_starts_with,
    profile_tree,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class ModuleTimes(Struct, frozen=True, eq=False):
    """Costs by occurrence of a :class:`ModuleTree`; all int64, times in ns.

    Attributes:
        operators: Operators called by the module itself (not by submodules or operators).
        host_total_ns: Duration of the forward call.
        host_self_ns: The same without submodules, operators and launches inside; never negative.
        device_self_ns: Device work launched in the forward call, outside submodules.
        device_total_ns: Device work launched in the forward call, submodules included.
        recompute_host_self_ns: Duration of the call where it ran again in the backward pass,
            outside submodules; forward columns are 0 then, and the other way round.
        recompute_host_total_ns: The same with submodules.
        recompute_device_self_ns: Device work launched there, outside submodules.
        recompute_device_total_ns: The same with submodules.
        backward_host_self_ns: Host time of backward nodes of the operators of this call, without
            what ran again in them.
        backward_host_total_ns: The same with submodules.
        backward_device_self_ns: Device work launched in those nodes.
        backward_device_total_ns: The same with submodules.
    """

    operators: Int64
    host_total_ns: Int64
    host_self_ns: Int64
    device_self_ns: Int64
    device_total_ns: Int64
    recompute_host_self_ns: Int64
    recompute_host_total_ns: Int64
    recompute_device_self_ns: Int64
    recompute_device_total_ns: Int64
    backward_host_self_ns: Int64
    backward_host_total_ns: Int64
    backward_device_self_ns: Int64
    backward_device_total_ns: Int64


@per_trace
def module_times(trace: Trace) -> ModuleTimes:
    """The costs of every call of a module (:func:`module_tree`); made once."""
    return tree_times(trace, module_tree(trace))


@per_trace
def profile_times(trace: Trace) -> ModuleTimes:
    """The costs of Lightning's ``[pl][profile]`` ranges (:func:`profile_tree`); made once."""
    return tree_times(trace, profile_tree(trace))


def tree_times(trace: Trace, tree: ModuleTree) -> ModuleTimes:
    """The costs of every occurrence of ``tree``."""
    duration = trace.slices["dur_ns"].to_numpy()[tree.slice]
    device, backward_device = _device_work(trace, tree)
    again = tree.is_recomputed
    recompute_host, backward_host = _host_in_backward(trace, tree)
    selves = {
        "device": np.where(again, 0, device),
        "recompute_host": recompute_host,
        "recompute_device": np.where(again, device, 0),
        "backward_host": backward_host,
        "backward_device": backward_device,
    }
    totals = {f"{key}_total_ns": with_descendants(ns, tree.parent) for key, ns in selves.items()}
    return ModuleTimes(
        operators=np.where(again, 0, _direct_operators(trace, tree)),
        host_total_ns=np.where(again, 0, duration),
        host_self_ns=np.where(again, 0, _host_self(trace, tree)),
        **{f"{key}_self_ns": ns for key, ns in selves.items()},
        **totals,
    )


def _sums(group: Int64, values: Int64, groups: int) -> Int64:
    """Exact sums of int64 ``values`` by group."""
    totals = np.zeros(groups, np.int64)
    np.add.at(totals, group, values)
    return totals


def _device_work(trace: Trace, tree: ModuleTree) -> tuple[Int64, Int64]:
    """Device time by occurrence: launched in the call itself, launched in its backward nodes."""
    duration = trace.device_work["dur_ns"].to_numpy()
    occurrence, in_backward = occurrences_of_work(trace, tree)
    totals = [
        _sums(occurrence[rows], duration[rows], tree.count)
        for rows in (
            np.flatnonzero((occurrence >= 0) & ~in_backward),
            np.flatnonzero((occurrence >= 0) & in_backward),
        )
    ]
    return totals[0], totals[1]


def occurrences_of_work(trace: Trace, tree: ModuleTree) -> tuple[Int64, Bools]:
    """Per row of ``trace.device_work`` the occurrence it is the work of, -1 for none, and whether
    it was launched in a backward node."""
    launch = indices(trace.device_work["launch"])
    in_backward = gather(tree.backward_root, launch) >= 0
    backward_of = gather(tree.backward_of, launch)
    return np.where(in_backward, backward_of, gather(tree.around, launch)), in_backward


def _host_in_backward(trace: Trace, tree: ModuleTree) -> tuple[Int64, Int64]:
    """Host time by occurrence: of the call where it ran again, of its backward nodes. Neither holds
    what ran inside it and counts for itself."""
    duration = trace.slices["dur_ns"].to_numpy()
    nodes = backward_nodes(trace)
    again = np.flatnonzero(tree.is_recomputed)
    own = duration.copy()
    # What lies directly in a backward node or in a call that ran again is taken off that.
    outer = gather(nodes.slice, nodes.outer)
    around = gather(tree.around, nodes.slice)
    in_module = (outer >= 0) & (gather(tree.within, around) == outer)
    holder = np.where(in_module, gather(tree.slice, around), outer)
    above = tree.parent[again]
    in_call = gather(tree.within, above) == tree.within[again]
    call_holder = np.where(in_call, gather(tree.slice, above), tree.within[again])
    for parts, wholes in ((nodes.slice, holder), (tree.slice[again], call_holder)):
        np.subtract.at(own, wholes[wholes >= 0], duration[parts[wholes >= 0]])
    own = np.maximum(own, 0)
    target = tree.backward_of[nodes.slice]
    known = target >= 0
    recomputed = np.zeros(tree.count, np.int64)
    recomputed[again] = own[tree.slice[again]]
    return recomputed, _sums(target[known], own[nodes.slice[known]], tree.count)


def _operators(trace: Trace) -> Bools:
    is_operator = operator_mask(trace)
    if is_lightning(trace):
        for prefix in (LIGHTNING_MODULE, LIGHTNING_PROFILE):
            is_operator = is_operator & ~name_starts_with(trace, prefix)
    return is_operator


def _direct_operators(trace: Trace, tree: ModuleTree) -> Int64:
    """Operators of each occurrence that are in no other operator of the same occurrence."""
    is_operator = _operators(trace)
    parent = indices(trace.slices["parent"])
    above = gather(nearest_marked(parent, is_operator), parent)
    outermost = is_operator & (gather(tree.around, above) != tree.around)
    inside = tree.around[outermost & (tree.around >= 0)]
    return np.bincount(inside, minlength=tree.count).astype(np.int64)


def _host_self(trace: Trace, tree: ModuleTree) -> Int64:
    """Duration of each occurrence less what submodules, operators and launches cover of it."""
    start = trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    is_runtime = trace.slices["category"].to_numpy() == Category.RUNTIME
    work = np.flatnonzero((_operators(trace) | is_runtime) & (tree.around >= 0))
    nested = np.flatnonzero((tree.parent >= 0) & ~tree.is_recomputed)
    parts = np.concatenate((work, tree.slice[nested]))
    occurrence = np.concatenate((tree.around[work], tree.parent[nested]))
    around = tree.slice[occurrence]
    covered = union_lengths(
        occurrence,
        np.maximum(start[parts], start[around]),
        np.minimum(end[parts], end[around]),
        tree.count,
    )
    own: Int64 = end[tree.slice] - start[tree.slice] - covered
    return own
