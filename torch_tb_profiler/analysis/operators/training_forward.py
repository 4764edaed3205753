"""Which calls of operators are part of the forward pass of a training.

Definitions: ``docs/metrics.md#operator-identity``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import (
    gather,
    indices,
    nearest_marked,
    with_ancestors,
)
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.enclosing import in_backward
from torch_tb_profiler.analysis.recording.backward_nodes import BackwardNodes, backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import modules_around
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def training_forward(trace: Trace) -> Bools:
    """Per call of :func:`call_tree` whether it is of a forward pass that has a backward one.

    So are the forward operators of backward nodes, what is around and inside them, whatever ran in
    the same call of an outermost module, and what ran on their thread between two of them with no
    backward node since the first. What ran inside a backward pass is none.
    """
    nodes, tree = backward_nodes(trace), call_tree(trace)
    count = len(tree.slice)
    is_call = np.zeros(trace.slices.height, np.bool_)
    is_call[tree.slice] = True
    linked = gather(nearest_marked(indices(trace.slices["parent"]), is_call), nodes.forward)
    linked = distinct_values(linked[linked >= 0])
    if not len(linked):
        return np.zeros(count, np.bool_)
    is_linked = np.zeros(count, np.bool_)
    is_linked[np.searchsorted(tree.slice, linked)] = True
    is_forward = is_linked | (nearest_marked(tree.parent, is_linked) >= 0)
    is_forward[with_ancestors(np.flatnonzero(is_linked), tree.parent)] = True
    outermost = _outermost_modules(trace)
    with_linked = np.zeros(trace.slices.height + 1, np.bool_)
    with_linked[outermost[linked]] = True
    with_linked[-1] = False
    is_forward |= with_linked[outermost[tree.slice]]
    is_forward |= _between(trace, nodes, tree.slice, linked)
    return is_forward & ~in_backward(trace)[tree.slice]


def _outermost_modules(trace: Trace) -> Int64:
    """Per slice the outermost frame of a module around it, -1 for none."""
    module = modules_around(trace)
    modules = distinct_values(module[module >= 0])
    above = gather(module, indices(trace.slices["parent"])[modules])
    is_root = np.zeros(len(module), np.bool_)
    is_root[modules[above < 0]] = True
    up = np.full(len(module), -1, np.int64)
    up[modules] = above
    return gather(nearest_marked(up, is_root), module)


def _between(trace: Trace, nodes: BackwardNodes, calls: Int64, linked: Int64) -> Bools:
    """Which ``calls`` lie between two ``linked`` ones of their track with no backward node of their
    process between those."""
    start_ns = trace.slices["start_ns"].to_numpy()
    track = trace.slices["track"].to_numpy()
    # Ids are in order of track and start.
    after = np.searchsorted(linked, calls, "right")
    is_between = (after > 0) & (after < len(linked))
    before, behind = linked[np.maximum(after - 1, 0)], linked[np.minimum(after, len(linked) - 1)]
    is_between &= (track[before] == track[calls]) & (track[behind] == track[calls])
    process = indices(trace.tracks["process"])
    passed = np.zeros(len(linked), np.int64)
    for each in distinct_values(process[track[linked]]).tolist():
        of_process = process[track[linked]] == each
        started_ns = np.sort(start_ns[nodes.slice[process[track[nodes.slice]] == each]])
        passed[of_process] = np.searchsorted(started_ns, start_ns[linked[of_process]])
    same: Bools = passed[np.maximum(after - 1, 0)] == passed[np.minimum(after, len(linked) - 1)]
    return is_between & same
