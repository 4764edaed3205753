"""The device work inside the calls of groups of operators, or of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.modules.times import occurrences_of_work
from torch_tb_profiler.analysis.recording.module_tree import ModuleTree
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


class GroupWork(NamedTuple):
    """Pairs of device work and a group that it is of, each once.

    Attributes:
        rows: Rows of ``trace.device_work``.
        group: The group of each.
    """

    rows: Int64
    group: Int64


def work_of_groups(
    trace: Trace, selection: Selection, calls: pl.DataFrame, keys: Sequence[str]
) -> GroupWork:
    """The selected device work inside the calls of each group, what is nested included.

    Args:
        trace: The trace.
        selection: What counts.
        calls: Rows of ``selected_operator_calls`` with the keys.
        keys: What rows of a group have in common; groups are numbered in the order of their first
            rows, as ``operator_groups`` has them.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree = call_tree(trace)
    members = calls.group_by(keys, maintain_order=True).agg("call")["call"]
    number = np.repeat(np.arange(len(members)), members.list.len().to_numpy())
    group_of_call = np.full(len(tree.slice), -1, np.int64)
    group_of_call[members.explode(empty_as_null=False).to_numpy()] = number
    rows = np.flatnonzero(device_work_mask(trace, selection) & (tree.owner >= 0))
    return climb(rows, tree.owner[rows], tree.parent, group_of_call)


def work_of_modules(trace: Trace, selection: Selection, tree: ModuleTree) -> GroupWork:
    """All device work of the selected calls of modules by node of the tree, submodules included:
    forward, recomputed and backward.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    occurrence, _ = occurrences_of_work(trace, tree)
    is_selected = slice_mask(trace, selection)[tree.slice[tree.call]]
    node_of_call = np.where(is_selected, tree.node, -1)
    rows = np.flatnonzero(occurrence >= 0)
    return climb(rows, occurrence[rows], tree.parent, node_of_call)


def climb(rows: Int64, call: Int64, parent: Int64, group_of_call: Int64) -> GroupWork:
    """Every row with the group of each call (or node of a tree) around it, each pair once.

    Args:
        rows: Rows of device work.
        call: The innermost call around each.
        parent: Per call the one around it, negative for none.
        group_of_call: Its group, -1 for none.
    """
    count = int(group_of_call.max(initial=-1)) + 1
    pairs = [rows[:0]]
    while len(rows):
        group = group_of_call[call]
        known = group >= 0
        pairs.append(rows[known] * count + group[known])
        call = parent[call]
        inside = call >= 0
        call, rows = call[inside], rows[inside]
    distinct = distinct_values(np.concatenate(pairs))
    return GroupWork(*np.divmod(distinct, max(count, 1)))
