"""The nodes of backward passes, and the forward operator of each.

Definitions: ``docs/views-modules.md#how-it-is-counted``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import names_match
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_EVALUATES = "autograd::engine::evaluate_function: "
_ACCUMULATE_GRAD = "AccumulateGrad"


class BackwardNodes(Struct, frozen=True, eq=False):
    """The nodes that the autograd engine ran; aligned with ``slice`` but for ``around``.

    Attributes:
        slice: Slice of each node, ascending.
        forward: Slice of its forward operator, -1 where unknown. An ``AccumulateGrad`` has none and
            takes that of the node before it on its thread.
        outer: Index of the node it ran in, -1 for most: a backward pass inside another one.
        around: Per slice of the trace, the slice of the innermost node around it, -1 for none.
    """

    slice: Int64
    forward: Int64
    outer: Int64
    around: Int64


@per_trace
def backward_nodes(trace: Trace) -> BackwardNodes:
    """The backward nodes of ``trace``.

    A node is an evaluation by the engine; where the file names none, an operator that is linked
    to its forward operator. An operator inside a node is a separate node when the engine evaluated
    it there, or when it is linked to another forward operator.
    """
    parent = indices(trace.slices["parent"])
    linked = trace.operators.filter(pl.col("forward").is_not_null())
    linked_slice = linked["slice"].to_numpy()
    every_slice = np.arange(trace.slices.height)
    evaluated = _names_match(trace, every_slice, lambda name: name.startswith(_EVALUATES))
    forward_of = np.full(trace.slices.height, -1, np.int64)
    forward_of[linked_slice] = linked["forward"].to_numpy()
    is_backward = evaluated | (forward_of >= 0)
    if not is_backward.any():
        none = np.empty(0, np.int64)
        return BackwardNodes(none, none, none, np.full(trace.slices.height, -1, np.int64))
    above = gather(gather(nearest_marked(parent, is_backward), parent), linked_slice)
    same_forward = gather(forward_of, above) == forward_of[linked_slice]
    is_part = (above >= 0) & (same_forward | np.append(evaluated, False)[above])
    is_node = evaluated.copy()
    is_node[linked_slice[~is_part]] = True
    around = nearest_marked(parent, is_node)
    forward = np.full(trace.slices.height, -1, np.int64)
    # Written from the last to the first, so that the first link inside a node decides.
    forward[around[linked_slice][::-1]] = linked["forward"].to_numpy()[::-1]
    nodes = np.flatnonzero(is_node)
    node_of_slice = np.full(trace.slices.height, -1, np.int64)
    node_of_slice[nodes] = np.arange(len(nodes))
    outer = gather(node_of_slice, gather(around, parent[nodes]))
    return BackwardNodes(
        nodes, _fill_accumulations(trace, nodes, forward[nodes], outer), outer, around
    )


def _names_match(trace: Trace, slices: Int64, predicate: Callable[[str], bool]) -> Bools:
    """Which of ``slices`` have a name that the predicate holds for."""
    return names_match(trace, trace.slices["name_code"].to_numpy()[slices], predicate)


def _fill_accumulations(trace: Trace, nodes: Int64, forward: Int64, outer: Int64) -> Int64:
    """``forward`` of each node; gradient accumulation takes that of the node before it on its
    thread and inside the same node."""
    order = np.argsort(outer, kind="stable")
    accumulates = _names_match(trace, nodes[order], lambda name: _ACCUMULATE_GRAD in name)
    source = np.maximum.accumulate(np.where(accumulates, -1, np.arange(len(nodes))))
    track, inside = indices(trace.slices["track"])[nodes[order]], outer[order]
    same = (track == gather(track, source)) & (inside == gather(inside, source))
    carried = np.where(same, gather(forward[order], source), -1)
    result = np.empty_like(forward)
    result[order] = np.where(accumulates, carried, forward[order])
    return result
