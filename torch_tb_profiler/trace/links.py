"""Links of a trace: device work → launching host call, host call → the node that made it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.constant_columns import is_constant, neighbours
from torch_tb_profiler.trace.launches import launching_mask, match_launches
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport

MAX_STEPS_UP = 64
"""Levels of nested ranges that are climbed one by one; beyond, the step doubles each time."""


class HostCalls(Struct, frozen=True):
    """Calls into a device runtime or driver; arrays are aligned with ``ids``, -1 is none.

    Attributes:
        ids: Slice ids, ascending.
        launching: Whether the name is that of a call that puts work on a device.
        within: The calls nested in each other (a driver call inside a runtime call).
        enclosing: The innermost node around the call's start, in time.
        owner: The node that made the call; see :func:`build_links`.
    """

    ids: Int64
    launching: Bools
    within: Forest
    enclosing: Int64
    owner: Int64


class DeviceWork(Struct, frozen=True):
    """Kernels, copies and memsets; arrays are aligned with ``ids``, -1 is none.

    Attributes:
        ids: Slice ids, ascending.
        launch: The host call that launched it: the one that the format states, else the one with
            the same correlation id in the same process.
        is_ambiguous: It has none because calls of several processes could be it.
        owner: The node that made that call.
        node: The innermost node around the launch where its operator is the owner, such as a range
            inside an operator; else the owner.
        process: The host process it belongs to: that of its launch, else the one process that
            launched all other work of its device.
    """

    ids: Int64
    launch: Int64
    is_ambiguous: Bools
    owner: Int64
    node: Int64
    process: Int32


class Links(Struct, frozen=True):
    """All launch links of a trace."""

    calls: HostCalls
    work: DeviceWork


class OperatorIds:
    """Nodes by external id and process. An id that several nodes of a process share matches none of
    them; without a process, an id that several nodes of the file share."""

    def __init__(self, slices: OrderedSlices, *, trusted: bool) -> None:
        nodes = slices.ids_of(NODE_CATEGORIES)
        nodes = nodes[slices.external_id[nodes] > 0] if trusted else nodes[:0]
        external_id = slices.external_id[nodes]
        self._ids, first, count = np.unique(external_id, return_index=True, return_counts=True)
        self._node = np.where(count == 1, nodes[first], -1)
        process = slices.process_of(nodes)
        self._has_several_processes = len(process) > 0 and process.min() != process.max()
        if self._has_several_processes:
            self._processes = int(process.max()) + 1
            key = positions_in(self._ids, external_id) * self._processes + process
            self._keys, first, count = np.unique(key, return_index=True, return_counts=True)
            self._node_of_key = np.where(count == 1, nodes[first], -1)

    @property
    def is_empty(self) -> bool:
        """Whether no node has an external id."""
        return not len(self._ids)

    def lookup(self, external_id: Int64, process: Int32) -> Int64:
        """Per (external id, process) its node, or -1."""
        number = positions_in(self._ids, external_id)
        node = np.where(number >= 0, np.append(self._node, -1)[number], -1)
        if not self._has_several_processes:
            return node
        is_known = (number >= 0) & (process < self._processes)
        row = positions_in(self._keys, np.where(is_known, number * self._processes + process, -1))
        in_process = np.where(row >= 0, self._node_of_key[row], -1)
        return np.where(process == NO_PROCESS, node, in_process)


def build_links(
    slices: OrderedSlices,
    nodes: Forest,
    strings: list[str],
    device_index: Int64,
    *,
    tolerance_ns: int,
    quality: QualityReport,
) -> Links:
    """Match every launch and every owner; what remains unmatched is counted in ``quality``.

    An owner that the format states counts. Else the owner of a call is the innermost operator
    around its start on its thread, or the innermost range if there is no operator. An external id
    that names an operator around the call decides for calls at the very edge of an operator, in
    files whose external ids can be trusted. Work whose launch or owner is not in the file belongs
    to the operator that its own id names.

    Args:
        slices: All slices.
        nodes: The operators and ranges, nested.
        strings: The dictionary of names.
        device_index: As in :func:`~torch_tb_profiler.trace.launches.match_launches`.
        tolerance_ns: Resolution of the file's clock.
    """
    ids, work = slices.ids_of((Category.RUNTIME,)), slices.ids_of(DEVICE_WORK_CATEGORIES)
    enclosing = nodes.innermost(slices.track[ids], slices.start_ns[ids])
    operator_ids = OperatorIds(
        slices, trusted=_has_trusted_external_ids(slices, ids, work, quality)
    )
    calls = HostCalls(
        ids=ids,
        launching=launching_mask(slices, ids, strings),
        within=nest(slices, ids, tolerance_ns, is_searchable=False),
        enclosing=enclosing,
        owner=_apply_explicit_owners(
            slices, nodes, ids, _call_owner(slices, nodes, ids, enclosing, operator_ids)
        ),
    )
    launch, is_ambiguous = match_launches(
        slices,
        ids,
        calls.launching,
        work,
        device_index,
        strings=strings,
        tolerance_ns=tolerance_ns,
        quality=quality,
    )
    process = _process_of_work(slices, launch, device_index)
    node, owner = _nodes_of_launches(slices, nodes, calls, launch)
    if not operator_ids.is_empty:
        own_owner = operator_ids.lookup(slices.external_id[work], process)
        own_owner[slices.start_ns[own_owner] > slices.start_ns[work]] = -1
        owner = np.where(owner >= 0, owner, own_owner)
    owner = _apply_explicit_owners(slices, nodes, work, owner)
    _count_link_issues(slices, calls, work, launch, quality)
    if (node == owner).all():
        node = owner  # shared, as in most traces
    else:
        is_inside = (node >= 0) & (_enclosing_operator(slices, nodes, node) == owner)
        node = np.where(is_inside, node, owner)
    return Links(calls, DeviceWork(work, launch, is_ambiguous, owner, node, process))


def _apply_explicit_owners(slices: OrderedSlices, nodes: Forest, ids: Int64, owner: Int64) -> Int64:
    """The owners, replaced where the format states one: a node, or a host slice that is not a node
    (an entry of a queue that another thread works off), whose owner is that of a call at its
    start."""
    if slices.owner is None:
        return owner
    explicit = slices.owner[ids]
    rows = np.flatnonzero(explicit >= 0)
    is_node = slices.mask_of(NODE_CATEGORIES)[explicit[rows]]
    owner_with_explicit: Int64 = owner.copy()
    owner_with_explicit[rows[is_node]] = explicit[rows[is_node]]
    others = rows[~is_node]
    host_slice = explicit[others]
    enclosing = nodes.innermost(slices.track[host_slice], slices.start_ns[host_slice])
    nearest = _enclosing_operator(slices, nodes, enclosing)
    owner_with_explicit[others] = np.where(nearest >= 0, nearest, owner[others])
    return owner_with_explicit


def _has_trusted_external_ids(
    slices: OrderedSlices, calls: Int64, work: Int64, quality: QualityReport
) -> bool:
    """Whether external ids name operators: between torch 1.12 and 2.2 they repeat the correlation
    id."""
    if is_constant(slices.external_id) and slices.external_id[0] <= 0:
        return True
    both = np.concatenate((calls, work))
    external, correlation = slices.external_id[both], slices.correlation[both]
    has_both = (external > 0) & (correlation > 0)
    repeated = int((external[has_both] == correlation[has_both]).sum())
    if 2 * repeated <= int(has_both.sum()):
        return True
    quality.add("external_id_untrusted", repeated)
    return False


def _call_owner(
    slices: OrderedSlices, nodes: Forest, calls: Int64, enclosing: Int64, operator_ids: OperatorIds
) -> Int64:
    owner = _enclosing_operator(slices, nodes, enclosing)
    if operator_ids.is_empty:
        return owner
    node = operator_ids.lookup(slices.external_id[calls], slices.process_of(calls))
    start = slices.start_ns[calls]
    is_around = (
        (node >= 0)
        & (slices.track[node] == slices.track[calls])
        & (slices.start_ns[node] <= start)
        & (slices.end_ns[node] >= start)
    )
    return np.where(is_around, node, owner)


def _enclosing_operator(slices: OrderedSlices, nodes: Forest, start: Int64) -> Int64:
    """Per node the operator it is or lies in; the node itself if it lies in none."""
    distinct, inverse = np.unique(start, return_inverse=True)
    operators = slices.mask_of((Category.OPERATOR, Category.PYTHON_OPERATOR))
    nearest: Int64 = distinct.copy()
    rows = np.flatnonzero(distinct >= 0)
    rows = rows[~operators[distinct[rows]]]
    above = distinct[rows]
    for _ in range(MAX_STEPS_UP):
        if not len(rows):
            break
        above = nodes.parent[np.searchsorted(nodes.ids, above)]
        inside = above >= 0
        rows, above = rows[inside], above[inside]
        is_operator = operators[above]
        nearest[rows[is_operator]] = above[is_operator]
        rows, above = rows[~is_operator], above[~is_operator]
    if len(rows):
        far = _enclosing_operators(nodes, operators)[np.searchsorted(nodes.ids, above)]
        nearest[rows[far >= 0]] = far[far >= 0]
    owner: Int64 = nearest[inverse]
    return owner


def _enclosing_operators(nodes: Forest, operators: Bools) -> Int64:
    """Per node of the forest the operator it is or lies in, else -1; at any depth."""
    up = positions_in(nodes.ids, nodes.parent)
    up[operators[nodes.ids]] = np.flatnonzero(operators[nodes.ids])
    up = np.append(up, -1)
    while not np.array_equal(up, climbed := up[up]):
        up = climbed
    return np.append(nodes.ids, -1)[up[:-1]]


def _nodes_of_launches(
    slices: OrderedSlices, nodes: Forest, calls: HostCalls, launch: Int64
) -> tuple[Int64, Int64]:
    """Per launch the innermost node around it (itself if the format states a node as launch), and
    its owner: that of the call, or the operator that such a node is or lies in."""
    position = positions_in(calls.ids, launch)
    is_call = position >= 0
    if is_call.all():
        return calls.enclosing[position], calls.owner[position]
    is_node = (launch >= 0) & ~is_call & slices.mask_of(NODE_CATEGORIES)[launch]
    node = np.where(is_node, launch, -1)
    node[is_call] = calls.enclosing[position[is_call]]
    owner = np.full(len(launch), -1, np.int64)
    owner[is_call] = calls.owner[position[is_call]]
    owner[is_node] = _enclosing_operator(slices, nodes, launch[is_node])
    return node, owner


def _process_of_work(slices: OrderedSlices, launch: Int64, device_index: Int64) -> Int32:
    """The process of each launch; for work without one that of all other work of its device."""
    if not slices.has_several_processes:
        return np.zeros(len(launch), np.int32)
    process = np.full(len(launch), NO_PROCESS, np.int32)
    linked = launch >= 0
    process[linked] = slices.process_of(launch[linked])
    if linked.all():
        return process
    size = int(device_index.max(initial=-1)) + 1
    first, last = np.full(size, np.iinfo(np.int32).max), np.full(size, NO_PROCESS)
    np.minimum.at(first, device_index[linked], process[linked])
    np.maximum.at(last, device_index[linked], process[linked])
    owner = np.where(first == last, last, NO_PROCESS)
    process[~linked] = owner[device_index[~linked]]
    return process


def _count_link_issues(
    slices: OrderedSlices, calls: HostCalls, work: Int64, launch: Int64, quality: QualityReport
) -> None:
    early = slices.start_ns[neighbours(work)] < slices.start_ns[launch]
    early &= launch >= 0
    quality.add("kernel_before_launch", int(early.sum()))
    quality.add("launch_without_operator", int((calls.launching & (calls.owner < 0)).sum()))
