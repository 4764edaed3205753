"""The tree of modules as a hierarchy: forward calls, what ran again, and the backward of each."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, Nodes
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace


def modules_hierarchy(trace: Trace) -> Hierarchy:
    """Modules; the backward work of a call is a call of its own at the same place of the tree."""
    tree, backward = module_tree(trace), backward_nodes(trace)
    count = tree.count
    target = tree.backward_of[backward.slice]
    known = target >= 0
    range_slice = np.concatenate((tree.slice, backward.slice[known]))
    range_of_node = np.full(trace.slices.height, -1, np.int64)
    range_of_node[backward.slice[known]] = count + np.arange(int(known.sum()))
    in_backward = tree.backward_root >= 0
    around = np.where(in_backward, gather(range_of_node, tree.backward_root), tree.around)
    range_call = np.concatenate((np.arange(count), count + target[known]))
    return Hierarchy(
        nodes=Nodes(tree.nodes.parent, tree.nodes.name, tree.nodes.path),
        first_outside=len(tree.nodes.name),
        call_node=np.tile(tree.node, 2),
        call_parent=np.concatenate(
            (tree.parent, np.where(tree.parent >= 0, count + tree.parent, -1))
        ),
        call_slice=np.tile(tree.slice, 2),
        range_slice=range_slice,
        range_call=range_call,
        is_call=np.append(~tree.is_recomputed, np.zeros(int(known.sum()), np.bool_)),
        around=around,
        work_call=calls_of_work(trace, around, range_call),
    )


def calls_of_work(trace: Trace, around: Int64, range_call: Int64) -> Int64:
    """Per row of ``trace.device_work`` the call around its launch, or where the file has no launch
    of it, or an owner that is elsewhere, around its owner; -1 for none."""
    launch, owner = (indices(trace.device_work[column]) for column in ("launch", "owner"))
    host_slice = np.where((launch >= 0) & ~owned_elsewhere(trace), launch, owner)
    return gather(range_call, gather(around, host_slice))


def owned_elsewhere(trace: Trace) -> Bools:
    """Which device work belongs to what is not around its launch: kernels of a replayed graph, to
    what made their nodes."""
    launch, owner = (indices(trace.device_work[column]) for column in ("launch", "owner"))
    start = trace.slices["start_ns"].to_numpy()
    dur = trace.slices["dur_ns"].to_numpy()
    after = start[launch] - start[owner]
    elsewhere: Bools = (launch >= 0) & (owner >= 0) & ((after < 0) | (after > dur[owner]))
    return elsewhere
