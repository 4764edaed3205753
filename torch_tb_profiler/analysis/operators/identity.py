"""Operators at their places: which calls are calls of one operator, its path, direction and type.

Two calls are of one operator when they have the same name at the same place of their iterations:
inside modules, ranges and operators of the same names, and as the same repetition there.
Definitions: ``docs/metrics.md#operator-identity``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.enclosing import EnclosingScopes, enclosing_scopes
from torch_tb_profiler.analysis.operators.training_forward import training_forward
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.hlo_categories import hlo_texts
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.knowledge.hlo import hlo_operator_type
from torch_tb_profiler.knowledge.operator_types import TYPES, operator_types
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

UNKNOWN_DIRECTION, FORWARD, BACKWARD = 0, 1, 2
DIRECTIONS = (None, "forward", "backward")
"""The directions by code."""

NO_TYPE = -1
UNKNOWN = "unknown"
"""Stands in ids for a type or a direction nobody knows."""

MAX_PATH_CHARS = 2000
"""Longer paths begin with ``…`` and the number of an operator or module on the way: thousands of
levels deep, whole paths would take memory by the square of the depth."""


class OperatorIdentity(Struct, frozen=True, eq=False):
    """The operators of a trace, in order of their first calls.

    Attributes:
        operator: Per call of :func:`call_tree` the number of its operator.
        first_call: Per operator its first call.
        name_code: Per operator the code of its name.
        direction: Per operator :data:`FORWARD`, :data:`BACKWARD` or :data:`NOT_TOLD`.
        type: Per operator the place of its type in ``knowledge.operator_types.TYPES``, or
            :data:`NO_TYPE`.
        forward: Per operator its forward operator; -1 where it is not known, and for what is no
            backward operator.
        node: Per operator its node of the tree of places.
        node_parent: Per node the one around it, -1 for none.
        node_label: Per node the place of its label in ``labels``.
        node_ordinal: Per node which call of this label it is inside a call of its parent, from 1.
        node_carries_path: Which nodes have the path of their parent, their forward operator.
        labels: Names of operators, modules and ranges.
    """

    operator: Int64
    first_call: Int64
    name_code: Int64
    direction: Int8
    type: Int8
    forward: Int64
    node: Int64
    node_parent: Int64
    node_label: Int64
    node_ordinal: Int64
    node_carries_path: Bools
    labels: list[str]

    @property
    def count(self) -> int:
        """How many operators there are."""
        return len(self.first_call)

    def type_of(self, operator: int) -> str | None:
        """The type of an operator, None for an unknown one."""
        of_operator = int(self.type[operator])
        return TYPES[of_operator] if of_operator != NO_TYPE else None

    def direction_of(self, operator: int) -> str | None:
        """``forward``, ``backward``, or None where the trace does not tell."""
        return DIRECTIONS[int(self.direction[operator])]

    def id_of(self, operator: int) -> str:
        """The id of an operator, ``convolution-forward-17``: type, direction and the number of its
        first call in the file, the same at every opening."""
        kind = self.type_of(operator) or UNKNOWN
        direction = self.direction_of(operator) or UNKNOWN
        return f"{kind}-{direction}-{int(self.first_call[operator]) + 1}"

    def find(self, operator_id: str) -> int | None:
        """The operator of an id, None where there is none."""
        number = operator_id.rpartition("-")[2]
        if not (number.isascii() and number.isdigit()) or len(number) > 18:
            return None
        call = int(number) - 1
        if not 0 <= call < len(self.operator):
            return None
        operator = int(self.operator[call])
        return operator if self.id_of(operator) == operator_id else None

    def paths(self, operators: Iterable[int]) -> list[str]:
        """The paths of operators, ``/ResNet_0/Conv2d_0/aten::conv2d(2)``."""
        known: dict[int, str] = {-1: ""}
        return [self._path(int(self.node[operator]), known) for operator in operators]

    def _path(self, node: int, known: dict[int, str]) -> str:
        """The path of a node; those on the way are added to ``known``."""
        line = []
        while node not in known:
            line.append(node)
            node = int(self.node_parent[node])
        path = known[node]
        for each in reversed(line):
            if len(path) > MAX_PATH_CHARS:
                path = f"…{int(self.node_parent[each])}"
            if not self.node_carries_path[each]:
                path = f"{path}/{self.labels[int(self.node_label[each])]}"
            ordinal = int(self.node_ordinal[each])
            path = known[each] = f"{path}({ordinal})" if ordinal > 1 else path
        return path


@per_split
def operator_identity(trace: Trace) -> OperatorIdentity:
    """The operators of ``trace``, cut into its iterations; made once for each cut."""
    enclosing = enclosing_scopes(trace)
    ordinal = _ordinals(trace, enclosing)
    node, example = _merged(enclosing, ordinal)
    is_call = enclosing.call >= 0
    of_call = node[is_call]  # elements and calls are both in order of slices
    first = np.full(len(example), len(of_call))
    np.minimum.at(first, of_call, np.arange(len(of_call)))
    operators = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(of_call))]
    number = np.full(len(example), -1, np.int64)
    number[operators] = np.arange(len(operators))
    operator, first_call = number[of_call], first[operators]
    is_forward = np.zeros(len(operators), np.bool_)
    is_forward[operator[training_forward(trace)]] = True
    is_backward = enclosing.is_backward[example[operators]]
    forward = gather(operator, gather(_forward_calls(trace), first_call))
    carries = enclosing.carries_path[example]
    parent = gather(node, enclosing.parent[example])
    return OperatorIdentity(
        operator=operator,
        first_call=first_call,
        name_code=indices(trace.slices["name_code"])[call_tree(trace).slice[first_call]],
        direction=np.where(is_backward, BACKWARD, np.where(is_forward, FORWARD, 0)).astype(np.int8),
        type=operator_types_of_calls(trace)[first_call],
        forward=forward,
        node=operators,
        node_parent=parent,
        node_label=enclosing.label[example],
        node_ordinal=ordinal[example],
        node_carries_path=carries,
        labels=enclosing.labels,
    )


@per_split
def operator_ids(trace: Trace) -> pl.Series:
    """Per operator of :func:`operator_identity` its id; made once."""
    identity = operator_identity(trace)
    return pl.Series(map(identity.id_of, range(identity.count)), dtype=pl.String)


@per_split
def operator_paths(trace: Trace) -> pl.Series:
    """Per operator of :func:`operator_identity` its path; made once."""
    identity = operator_identity(trace)
    return pl.Series(identity.paths(range(identity.count)), dtype=pl.String)


@per_split
def operator_parents(trace: Trace) -> Int64:
    """Per operator of :func:`operator_identity` the one that calls it, -1 for none: of its first
    call, as all its calls are at one place."""
    identity, tree = operator_identity(trace), call_tree(trace)
    return gather(identity.operator, tree.parent[identity.first_call])


@per_trace
def operator_types_of_calls(trace: Trace) -> Int8:
    """Per call of :func:`call_tree` the type that its name tells, or of an HLO operation its
    category: place in ``TYPES``, or :data:`NO_TYPE`; made once."""
    type_by_name = {None: NO_TYPE} | {kind: number for number, kind in enumerate(TYPES)}
    codes, row = factorize(indices(trace.slices["name_code"])[call_tree(trace).slice])
    types = operator_types([str(trace.strings[code]) for code in codes.tolist()])
    hlo = hlo_texts(trace)
    if hlo:
        types = [
            kind or next(filter(None, map(hlo_operator_type, hlo.get(code, ()))), None)
            for code, kind in zip(codes.tolist(), types, strict=True)
        ]
    of_code = np.array([type_by_name[kind] for kind in types], np.int8)
    of_call: Int8 = of_code[row]
    return of_call


@per_trace
def _forward_calls(trace: Trace) -> Int64:
    """Per call of :func:`call_tree` the forward call of the backward node around it, -1 for
    none."""
    nodes, tree = backward_nodes(trace), call_tree(trace)
    is_call = np.zeros(trace.slices.height, np.bool_)
    is_call[tree.slice] = True
    forward = np.full(trace.slices.height, -1, np.int64)
    forward[nodes.slice] = gather(
        nearest_marked(indices(trace.slices["parent"]), is_call), nodes.forward
    )
    number = np.full(trace.slices.height, -1, np.int64)
    number[tree.slice] = np.arange(len(tree.slice))
    return gather(number, gather(forward, nodes.around[tree.slice]))


def _ordinals(trace: Trace, enclosing: EnclosingScopes) -> Int64:
    """Per element which of its label it is inside its parent, from 1; anew in every iteration.

    A recording that is one interval has nothing that tells one iteration from the next but its
    outermost modules and ranges: those are not counted.
    """
    order = enclosing.order
    step = slice_steps(trace)[enclosing.slice[order]]
    begins = np.ones(len(order), np.bool_)
    for key in (enclosing.siblings[order], enclosing.label[order], step):
        begins[1:] &= key[1:] == key[:-1]
    begins[1:] = ~begins[1:]
    position = np.arange(len(order))
    ordinal = np.empty(len(order), np.int64)
    ordinal[order] = position - np.maximum.accumulate(np.where(begins, position, 0)) + 1
    is_one_interval = trace.steps.height < 2 and trace.steps["slice"].null_count() > 0
    if is_one_interval:
        ordinal[(enclosing.call < 0) & (enclosing.parent < 0)] = 1
    return ordinal


def _merged(enclosing: EnclosingScopes, ordinal: Int64) -> tuple[Int64, Int64]:
    """The node of each element and an element of each node: elements of one label, ordinal and
    direction inside elements of one node are one."""
    repetitions = int(ordinal.max(initial=0)) + 1
    kinds = max(len(enclosing.labels), 1) * 2 * repetitions
    kind = (enclosing.label * 2 + enclosing.is_backward) * repetitions + ordinal
    if kinds * (len(kind) + 1) >= 2**62:
        present, kind = factorize(kind)
        kinds = len(present)
    node = np.full(len(kind), -1, np.int64)
    examples = [np.empty(0, np.int64)]
    count = 0
    for level in enclosing.levels:
        keys = gather(node, enclosing.parent[level]) * kinds + kind[level]
        present, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        node[level] = inverse + count
        examples.append(level[first])
        count += len(present)
    return node, np.concatenate(examples)
