"""Call stacks as a hierarchy: Python frames, or the stacks that operators carry."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_stacks import SEPARATOR, CallStacks, call_stacks
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, Nodes, tree_of
from torch_tb_profiler.analysis.operators.hierarchies.of_slices import slices_hierarchy
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def call_stacks_hierarchy(trace: Trace) -> Hierarchy:
    """Frames from the outermost to the innermost; of frames only those that something ran in."""
    stacks = call_stacks(trace)
    parent = indices(trace.slices["parent"])
    category = trace.slices["category"].to_numpy()
    is_frame = np.isin(category, [int(each) for each in PYTHON_CATEGORIES])
    # Steps are iterations: where they began is no place of work.
    marked = (stacks.code >= 0) & (category != Category.STEP)
    if is_frame.any():
        # An operator or a call stands in its innermost frame; frames stand in each other.
        marked &= is_frame
        frame = indices(trace.slices["frame"])
        inside = np.where(frame >= 0, frame, parent)
    else:
        has_stack = np.zeros(trace.slices.height, np.bool_)
        has_stack[trace.operators["slice"].to_numpy()] = True
        marked &= has_stack
        inside = parent
    ids = np.flatnonzero(marked)
    number = np.full(trace.slices.height, -1, np.int64)
    number[ids] = np.arange(len(ids))
    around = gather(number, nearest_marked(inside, marked))
    codes = stacks.code[ids].astype(np.int64)
    start_ns = trace.slices["start_ns"].to_numpy()[ids]
    if is_frame.any():
        call_parent = gather(around, inside[ids])
        node, nodes = _of_frames(stacks, codes - len(stacks.argument_texts), start_ns)
    else:
        call_parent = np.full(len(ids), -1, np.int64)
        node, nodes = _of_texts(stacks.argument_texts, codes, start_ns)
    return slices_hierarchy(trace, nodes, slices=ids, node=node, parent=call_parent, around=around)


def _of_frames(stacks: CallStacks, chain: Int64, start_ns: Int64) -> tuple[Int64, Nodes]:
    """The node of each frame, and the tree of all chains of frames."""
    first = np.full(len(stacks.chain_frame), np.iinfo(np.int64).max)
    np.minimum.at(first, chain, start_ns)
    names = [stacks.frame_texts[number] for number in stacks.chain_frame.tolist()]
    return tree_of(
        chain, parent=stacks.chain_parent, name=names, first_ns=first, separator=SEPARATOR
    )


def _of_texts(texts: list[str], code: Int64, start_ns: Int64) -> tuple[Int64, Nodes]:
    """The node of each operator by the text of its stack, and the tree of all stacks."""
    nodes: dict[tuple[int, str], int] = {}
    parents: list[int] = []
    names: list[str] = []
    node_of_code = np.full(len(texts), -1, np.int64)
    for number in distinct_values(code).tolist():
        above = -1
        for frame in reversed(texts[number].split(SEPARATOR)):
            key = (above, frame)
            if key not in nodes:
                nodes[key] = len(parents)
                parents.append(above)
                names.append(frame)
            above = nodes[key]
        node_of_code[number] = above
    node = gather(node_of_code, code)
    first = np.full(len(parents), np.iinfo(np.int64).max)
    np.minimum.at(first, node, start_ns)
    for row in range(len(parents) - 1, -1, -1):
        if parents[row] >= 0:
            first[parents[row]] = min(first[parents[row]], first[row])
    parent = np.array(parents, np.int64)
    return tree_of(node, parent=parent, name=names, first_ns=first, separator=SEPARATOR)
