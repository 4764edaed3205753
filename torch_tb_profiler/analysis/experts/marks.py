"""Host slices that are about experts: ranges around layers, operators with a stage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import gather, nearest_marked
from torch_tb_profiler.analysis.experts.stages import NONE, Stage, code
from torch_tb_profiler.analysis.recording.module_tree import NAME_PREFIX, module_tree
from torch_tb_profiler.knowledge import experts
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LAYER, EXPERT = 100, 101
"""Codes of marks that are no stage: a range around a layer, and one around one expert."""

_OTHER_CODES = {"layer": LAYER, "expert": EXPERT}


class ExpertMarks(Struct, frozen=True, eq=False):
    """Slices of the host that are about experts, ascending, with the code of what they are.

    Attributes:
        layers: Ranges and operators around a layer; those inside another one are left out.
        ranges: Ranges and modules of a stage, or of one expert.
        range_codes: The stage of each of these, or :data:`EXPERT`.
        operators: Operators of a stage.
        operator_codes: The stage of each.
    """

    layers: Int64
    ranges: Int64
    range_codes: Int8
    operators: Int64
    operator_codes: Int8

    @property
    def is_empty(self) -> bool:
        """Whether nothing on the host is about experts."""
        return not (len(self.layers) or len(self.ranges) or len(self.operators))

    def operator_around(self, trace: Trace, slices: Int64) -> tuple[Int64, Int8]:
        """Per slice (-1 for none) the innermost marked operator around its start and its stage."""
        around = innermost_around_start(trace, self.operators, slices)
        return around, _codes_at(self.operators, self.operator_codes, around)

    def range_around(self, trace: Trace, slices: Int64) -> tuple[Int64, Int8]:
        """Per slice (-1 for none) the innermost marked range around its start, or the module whose
        backward work it is, and its code."""
        around = innermost_around_start(trace, self.ranges, slices)
        backward = _module_of_backward(trace, self.ranges, slices)
        around = np.where(around >= 0, around, backward)
        return around, _codes_at(self.ranges, self.range_codes, around)

    def layer_around(self, trace: Trace, slices: Int64) -> Int64:
        """Per slice (-1 for none) the layer it belongs to, -1 for none: the slice of its range, or
        for backward work of a module that slice plus the number of slices of the trace."""
        around = innermost_around_start(trace, self.layers, slices)
        backward = _module_of_backward(trace, self.layers, slices)
        own = np.where(backward >= 0, backward + trace.slices.height, -1)
        return np.where(around >= 0, around, own)


@per_trace
def expert_marks(trace: Trace) -> ExpertMarks:
    """The marks of a trace."""
    category = trace.slices["category"].to_numpy()
    is_operator = np.isin(category, (Category.OPERATOR, Category.PYTHON_OPERATOR))
    is_range = np.isin(category, (Category.ANNOTATION, Category.MODULE))
    operators, operator_codes = _marked(trace, np.flatnonzero(is_operator), _operator_code)
    ranges, range_codes = _marked(trace, np.flatnonzero(is_range), _range_code)
    # A module of experts is a layer where nothing around it is one.
    is_layer = np.isin(range_codes, (LAYER, Stage.PRODUCTS))
    layers = np.sort(np.concatenate((operators[operator_codes == LAYER], ranges[is_layer])))
    no_layer, no_range = operator_codes != LAYER, range_codes != LAYER
    return ExpertMarks(
        _outermost(trace, layers),
        ranges[no_range],
        range_codes[no_range],
        operators[no_layer],
        operator_codes[no_layer],
    )


def _operator_code(name: str) -> int:
    rule = experts.expert_rule("operator", name)
    return NONE if rule is None else _OTHER_CODES.get(rule.stage, code(rule.stage))


def _range_code(name: str) -> int:
    rule = experts.expert_rule("range", name)
    if rule is None and not name.startswith(NAME_PREFIX):
        # A module of Lightning, or of a format that names it without a prefix.
        rule = experts.expert_rule("range", NAME_PREFIX + name)
    return NONE if rule is None else _OTHER_CODES.get(rule.stage, code(rule.stage))


def _marked(trace: Trace, rows: Int64, rule: Callable[[str], int]) -> tuple[Int64, Int8]:
    names = trace.slices["name_code"].to_numpy()[rows]
    values = codes.map_names(trace, names, rule, np.int8)
    marked = values != NONE
    return rows[marked], values[marked]


def _outermost(trace: Trace, slices: Int64) -> Int64:
    """Those that lie in no other of them, by time on their track."""
    if not len(slices):
        return slices
    track = trace.slices["track"].to_numpy()[slices]
    start = trace.slices["start_ns"].to_numpy()[slices]
    end = start + trace.slices["dur_ns"].to_numpy()[slices]
    retained, reach, current = [], 0, -1
    for row, (own, first, last) in enumerate(
        zip(track.tolist(), start.tolist(), end.tolist(), strict=True)
    ):
        if own != current or first >= reach:
            retained.append(row)
            current, reach = own, last
    return slices[retained]


def _codes_at(marked: Int64, values: Int8, around: Int64) -> Int8:
    if not len(marked):
        return np.full(len(around), NONE, np.int8)
    position = np.minimum(np.searchsorted(marked, np.maximum(around, 0)), len(values) - 1)
    return np.where(around >= 0, values[position], NONE).astype(np.int8)


def _module_of_backward(trace: Trace, marked: Int64, slices: Int64) -> Int64:
    """Per slice (-1 for none) the innermost of the marked modules whose backward work it is."""
    is_module = trace.slices["category"].to_numpy()[marked] == Category.MODULE
    if not is_module.any():
        return np.full(len(slices), -1, np.int64)
    tree = module_tree(trace)
    nearest = nearest_marked(tree.parent, np.isin(tree.slice, marked[is_module]))
    return gather(tree.slice, gather(nearest, gather(tree.backward_of, slices)))
