"""The operators below each node of a hierarchy: calls, and what they have to do with Tensor Cores.

Definitions: ``docs/views-groups.md#operators``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_descendants
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask, slice_steps
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class OperatorCounts(Struct, frozen=True, eq=False):
    """Per node, what is below it or in itself.

    Attributes:
        calls: Calls of operators that have no operator inside.
        eligible: Operators that could use Tensor Cores and have no such operator inside: those of
            one name at one node are one.
        using: Operators that launched kernels that use them, likewise.
    """

    calls: Int64
    eligible: Int64
    using: Int64


class _Traits(Struct, frozen=True, eq=False):
    """Per call of :func:`call_tree`."""

    is_leaf: Bools
    is_eligible: Bools
    is_using: Bools


@per_trace
def _traits(trace: Trace) -> _Traits:
    tree = call_tree(trace)
    is_leaf = np.ones(len(tree.slice), np.bool_)
    is_leaf[tree.parent[tree.parent >= 0]] = False
    could = eligible_slices(trace)[tree.slice] == codes.YES
    is_eligible = could.copy()
    around = tree.parent[could]
    is_eligible[around[around >= 0]] = False
    is_using = np.zeros(len(tree.slice), np.bool_)
    used = tree.is_own & (kernel_kinds(trace).tensor_core == codes.YES)
    is_using[tree.owner[used]] = True
    return _Traits(is_leaf, is_eligible, is_using)


def operator_counts(
    trace: Trace, hierarchy: Hierarchy, selection: Selection, windows: StepWindows
) -> OperatorCounts:
    """The operators of the iterations ``windows``; calls are in one by their start.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    slices, traits = call_tree(trace).slice, _traits(trace)
    node = gather(hierarchy.call_node, gather(hierarchy.range_call, hierarchy.around[slices]))
    in_one = np.append(windows.of_step, -1)[slice_steps(trace)[slices]] >= 0
    shown = in_one & slice_mask(trace, selection)[slices] & (node >= 0)
    names = indices(trace.slices["name_code"])[slices]
    parent, count = hierarchy.nodes.parent, hierarchy.nodes.count

    def distinct(rows: Bools) -> Int64:
        chosen = np.flatnonzero(rows & shown)
        pairs = distinct_values(node[chosen] * len(trace.strings) + names[chosen])
        own = np.bincount(pairs // max(len(trace.strings), 1), minlength=count)
        return with_descendants(own, parent)

    calls = np.bincount(node[shown & traits.is_leaf], minlength=count)
    return OperatorCounts(
        with_descendants(calls, parent), distinct(traits.is_eligible), distinct(traits.is_using)
    )
