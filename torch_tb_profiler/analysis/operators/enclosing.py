"""What each call of an operator lies in: modules, user ranges, operators, and its forward operator.

Definitions: ``docs/metrics.md#operator-identity``.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, levels, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import NAME_PREFIX, modules_around
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MIN_VARIANTS = 3
"""So many outermost ranges whose names differ in their numbers only are repetitions of one."""

_NUMBER = re.compile(r"\d+")
_AUTOGRAD_NODE = re.compile(r"(?:Backward\d*|AccumulateGrad)$")
"""How the engine calls what it runs (``ConvolutionBackward0``); operators that a node runs have
names of their own (``aten::convolution_backward``)."""


class EnclosingScopes(Struct, frozen=True, eq=False):
    """The calls of operators, of modules, and the user ranges around them, as one forest.

    Attributes:
        slice: Slice of each element, ascending.
        call: The number in :func:`call_tree` of each, -1 for a module or a range.
        parent: The element around each; of a backward node the call it is the backward of; -1 for
            none.
        label: What each is called: place in ``labels``.
        labels: Names of operators, of modules without ``nn.Module: ``, of ranges.
        is_backward: Which lie in a backward pass (:func:`in_backward`).
        carries_path: Which are the backward node of their parent, and so have its path.
        siblings: Equal for elements inside one parent, forward and backward apart; of those without
            one for each track.
        order: The elements by siblings, label and time.
        levels: The elements by depth, the outermost first.
    """

    slice: Int64
    call: Int64
    parent: Int64
    label: Int64
    labels: list[str]
    is_backward: Bools
    carries_path: Bools
    siblings: Int64
    order: Int64
    levels: list[Int64]


@per_trace
def enclosing_scopes(trace: Trace) -> EnclosingScopes:
    """The places of the calls of ``trace``; made once."""
    tree = call_tree(trace)
    module = modules_around(trace)
    is_module = trace.slices["category"].to_numpy() == Category.MODULE
    is_range = _ranges(trace, module)
    call = np.full(trace.slices.height, -1, np.int64)
    call[tree.slice] = np.arange(len(tree.slice))
    elements = np.flatnonzero((call >= 0) | is_module | is_range)
    number = np.full(trace.slices.height, -1, np.int64)
    number[elements] = np.arange(len(elements))
    around = _around(trace, elements, is_module, module, number)
    parent, carries_path = _with_forward(trace, elements, around, number)
    label, labels = _labels(trace, elements, is_module, is_range & (call < 0), parent)
    is_backward = in_backward(trace)[elements]
    track = indices(trace.slices["track"])[elements]
    siblings = np.where(parent >= 0, parent, -1 - track) * 2 + is_backward
    return EnclosingScopes(
        slice=elements,
        call=call[elements],
        parent=parent,
        label=label,
        labels=labels,
        is_backward=is_backward,
        carries_path=carries_path,
        siblings=siblings,
        order=np.lexsort((label, siblings)),
        levels=levels(parent),
    )


@per_trace
def in_backward(trace: Trace) -> Bools:
    """Per slice whether it lies in a backward node, or in an operator that is one by its name; made
    once."""
    tree = call_tree(trace)
    names = indices(trace.slices["name_code"])[tree.slice]
    is_named = map_names(
        trace, names, lambda name: _AUTOGRAD_NODE.search(name) is not None, np.bool_
    )
    is_node = np.zeros(trace.slices.height, np.bool_)
    is_node[tree.slice[is_named]] = True
    inside = nearest_marked(indices(trace.slices["parent"]), is_node)
    is_inside: Bools = (inside >= 0) | (backward_nodes(trace).around >= 0)
    return is_inside


def _ranges(trace: Trace, module: Int64) -> Bools:
    """Which slices are ranges outside every module that are no step: of the user, of the optimizer,
    of the data loader, and what wraps a whole model."""
    kinds = [kind for kind in NODE_CATEGORIES if kind != Category.STEP]
    wanted = np.zeros(len(Category), np.bool_)
    wanted[kinds] = True
    is_range: Bools = wanted[trace.slices["category"].to_numpy()] & (module < 0)
    is_range &= trace.slices["absorbed_into"].is_null().to_numpy()
    return is_range


def _around(trace: Trace, elements: Int64, is_module: Bools, module: Int64, number: Int64) -> Int64:
    """Per element the element around it, -1 for none. ``number``: that of each slice, or -1."""
    slice_parent = indices(trace.slices["parent"])
    is_node = (number >= 0) & ~is_module
    in_nodes = gather(nearest_marked(slice_parent, is_node), slice_parent[elements])
    in_module = module[elements]
    modules = np.flatnonzero(is_module[elements])
    if len(modules):
        # A module lies in the python tree: which operator it began in is told by time.
        of_module = elements[modules]
        in_nodes[modules] = innermost_around_start(trace, np.flatnonzero(is_node), of_module)
        in_module[modules] = gather(module, slice_parent[of_module])
    # Of a module and an operator around one slice, one lies in the other.
    node_is_inner = (in_nodes >= 0) & ((in_module < 0) | (gather(module, in_nodes) == in_module))
    return gather(number, np.where(node_is_inner, in_nodes, in_module))


def _with_forward(
    trace: Trace, elements: Int64, around: Int64, number: Int64
) -> tuple[Int64, Bools]:
    """``around`` with the forward call in place of what backward nodes ran in, where it is known,
    and which of them are linked to it themselves."""
    nodes = backward_nodes(trace)
    tree = call_tree(trace)
    is_call = np.zeros(trace.slices.height, np.bool_)
    is_call[tree.slice] = True
    nearest = nearest_marked(indices(trace.slices["parent"]), is_call)
    forward = gather(number, gather(nearest, nodes.forward))
    node = gather(number, nodes.slice)
    known = (forward >= 0) & (node >= 0)
    parent = around.copy()
    parent[node[known]] = forward[known]
    linked = trace.operators["slice"].filter(trace.operators["forward"].is_not_null()).to_numpy()
    is_linked = np.zeros(trace.slices.height, np.bool_)
    is_linked[nodes.around[linked]] = True
    carries_path = np.zeros(len(elements), np.bool_)
    carries_path[node[known]] = is_linked[nodes.slice[known]]
    return parent, carries_path


def _labels(
    trace: Trace, elements: Int64, is_module: Bools, is_range: Bools, parent: Int64
) -> tuple[Int64, list[str]]:
    """The place of each element's label, and the labels."""
    code = indices(trace.slices["name_code"])[elements]
    present, name = factorize(code)
    texts = [str(trace.strings[each]) for each in present.tolist()]
    kind = np.where(is_module[elements], 1, 0)
    kind[is_range[elements] & (parent < 0)] = 2
    repeated = _repetitions([texts[each] for each in distinct_values(name[kind == 2]).tolist()])
    rows: dict[tuple[bool, str], int] = {}
    distinct, inverse = factorize(name * 3 + kind)
    label = []
    for of_name, of_kind in (divmod(each, 3) for each in distinct.tolist()):
        text = texts[of_name]
        if of_kind == 1:
            text = text.removeprefix(NAME_PREFIX)
        elif of_kind == 2:
            text = repeated.get(text, text)
        label.append(rows.setdefault((of_kind == 1, text), len(rows)))
    return np.array(label, np.int64)[inverse], [text for _, text in rows]


def _repetitions(names: list[str]) -> dict[str, str]:
    """Names of ranges that differ in their numbers only, each with ``*`` for them."""
    patterns = {name: _NUMBER.sub("*", name) for name in names}
    variants: dict[str, int] = {}
    for pattern in patterns.values():
        variants[pattern] = variants.get(pattern, 0) + 1
    return {name: text for name, text in patterns.items() if variants[text] >= MIN_VARIANTS}
