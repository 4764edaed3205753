"""Where in a step something ran: the phase of every slice, and the module and operator it is of.

Definitions: ``docs/views-compare.md#what-explains-the-difference``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.phases import BACKWARD, DATALOADER, FORWARD

OUTSIDE = "Outside of phases"


class SliceLocations(Struct, frozen=True, eq=False):
    """Per slice of a trace.

    Attributes:
        phases: Names of the phases.
        phase: Number of the phase it ran in.
        node: Node of the module it is the work of, forward or backward; -1 for none.
        call: The operator call around it (or itself): row of :func:`call_tree`, -1 for none.
        ranges: Code of the name of a loader's or optimizer's range → its phase.
    """

    phases: list[str]
    phase: Int64
    node: Int64
    call: Int64
    ranges: dict[int, str]


@per_trace
def slice_locations(trace: Trace) -> SliceLocations:
    """Where the slices of a trace ran; made once."""
    parent = indices(trace.slices["parent"])
    tree = module_tree(trace)
    backward = backward_nodes(trace).around >= 0
    forward = (tree.around >= 0) | _linked(trace, parent)
    phases = [OUTSIDE, FORWARD, BACKWARD, DATALOADER]
    ranges = _range_names(trace)
    phase = _ranges(trace, parent, phases, ranges)
    phase[forward] = phases.index(FORWARD)
    phase[backward] = phases.index(BACKWARD)
    occurrence = np.where(tree.backward_root >= 0, tree.backward_of, tree.around)
    calls = call_tree(trace).slice
    number = np.full(trace.slices.height, -1, np.int64)
    number[calls] = np.arange(len(calls))
    call = gather(number, nearest_marked(parent, number >= 0))
    return SliceLocations(phases, phase, gather(tree.node, occurrence), call, ranges)


def _range_names(trace: Trace) -> dict[int, str]:
    """Code of each name of a range that loads data or optimizes → its phase: another loader or
    another optimizer is the same phase."""
    category = trace.slices["category"].to_numpy()
    names = trace.slices["name_code"].to_numpy()
    loaders = distinct_values(names[category == Category.DATALOADER]).tolist()
    optimizers = distinct_values(names[category == Category.OPTIMIZER]).tolist()
    of_optimizers = {code: str(trace.strings[code]).partition("#")[0] for code in optimizers}
    return of_optimizers | dict.fromkeys(loaders, DATALOADER)


def _ranges(trace: Trace, parent: Int64, phases: list[str], ranges: dict[int, str]) -> Int64:
    """The phase of what loads data or optimizes; names of optimizer ranges join ``phases``."""
    category = trace.slices["category"].to_numpy()
    names = trace.slices["name_code"].to_numpy()
    phase = np.zeros(len(category), np.int64)
    for kind in (Category.OPTIMIZER, Category.DATALOADER):
        around = nearest_marked(parent, category == kind)
        for code in distinct_values(names[category == kind]).tolist():
            name = ranges[code]
            if name not in phases:
                phases.append(name)
            phase[(around >= 0) & (names[around] == code)] = phases.index(name)
    return phase


def _linked(trace: Trace, parent: Int64) -> Bools:
    """What lies in an outermost operator of which some backward node is the backward."""
    is_operator = trace.slices["category"].to_numpy() == Category.OPERATOR
    is_outermost = is_operator & (gather(nearest_marked(parent, is_operator), parent) < 0)
    root = nearest_marked(parent, is_outermost)
    forward = backward_nodes(trace).forward
    has_backward = np.zeros(len(parent) + 1, np.bool_)
    roots = root[forward[forward >= 0]]
    has_backward[roots[roots >= 0]] = True
    linked: Bools = has_backward[root]
    return linked
