"""A hierarchy whose calls are single slices."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, Nodes
from torch_tb_profiler.analysis.operators.hierarchies.of_modules import calls_of_work
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def slices_hierarchy(
    trace: Trace, nodes: Nodes, *, slices: Int64, node: Int64, parent: Int64, around: Int64
) -> Hierarchy:
    """The hierarchy of ``nodes`` where each call is one range, a slice.

    Args:
        trace: The trace.
        nodes: The tree.
        slices: Slice of each call.
        node: Node of each call.
        parent: The call around each, -1 for none.
        around: Per slice of the trace the number of the innermost call around it, -1 for none.
    """
    calls = np.arange(len(slices))
    return Hierarchy(
        nodes=nodes,
        first_outside=nodes.count,
        call_node=node,
        call_parent=parent,
        call_slice=slices,
        range_slice=slices,
        range_call=calls,
        is_call=np.ones(len(slices), np.bool_),
        around=around,
        work_call=calls_of_work(trace, around, calls),
    )
