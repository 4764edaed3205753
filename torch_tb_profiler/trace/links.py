"""Who launched what: device work → host call, host call → the node that made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.constants import is_constant
from torch_tb_profiler.trace.launches import are_launching, find_launches
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.operator_ids import OperatorIds
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport

MAX_CLIMBS = 64
"""Ranges inside each other that are climbed one by one; of deeper ones each step is twice as long
as the one before it."""


@dataclass(frozen=True, slots=True)
class HostCalls:
    """Calls into a device runtime or driver; arrays are aligned with ``ids``, -1 is none.

    Attributes:
        ids: Slice ids, ascending.
        launching: Whether the name is one of a call that puts work on a device.
        within: The calls nested in each other (a driver call inside a runtime call).
        place: The innermost node around the call's start, in time.
        owner: The node that made the call; see :func:`link`.
    """

    ids: Int64
    launching: Bools
    within: Forest
    place: Int64
    owner: Int64


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """Kernels, copies and sets; arrays are aligned with ``ids``, -1 is none.

    Attributes:
        ids: Slice ids, ascending.
        launch: The host call that put it on the device: the one the format names, else the one of
            the same correlation id in the same process.
        is_ambiguous: It has none because calls of several processes could be it.
        owner: The node that made that call.
        process: The host process it belongs to: that of its launch, else the one process that
            launched all other work of its device.
    """

    ids: Int64
    launch: Int64
    is_ambiguous: Bools
    owner: Int64
    process: Int32


@dataclass(frozen=True, slots=True)
class Links:
    """All launch links of a trace."""

    calls: HostCalls
    work: DeviceWork


def link(
    slices: OrderedSlices,
    nodes: Forest,
    strings: list[str],
    place: Int64,
    *,
    tolerance_ns: int,
    quality: QualityReport,
) -> Links:
    """Find every launch and every owner; what stays alone is counted in ``quality``.

    An owner that the format names counts. Else the owner of a call is the innermost operator around
    its start on its thread, or where there is no operator the innermost range. An external id that
    names an operator around the call settles calls at the very edge of an operator, in files whose
    external ids can be trusted. Work whose launch or owner is not in the file has the operator its
    own id names.

    Args:
        slices: All slices.
        nodes: The operators and ranges, nested.
        strings: The dictionary of names.
        place: As :func:`~torch_tb_profiler.trace.launches.find_launches` wants it.
        tolerance_ns: Resolution of the file's clock.
    """
    ids, work = slices.ids_of((Category.RUNTIME,)), slices.ids_of(DEVICE_WORK_CATEGORIES)
    around = nodes.innermost(slices.track[ids], slices.start_ns[ids])
    named = OperatorIds(slices, trusted=_trusted(slices, ids, work, quality))
    calls = HostCalls(
        ids=ids,
        launching=are_launching(slices, ids, strings),
        within=nest(slices, ids, tolerance_ns, is_searched=False),
        place=around,
        owner=_with_given(slices, nodes, ids, _call_owner(slices, nodes, ids, around, named)),
    )
    launch, is_ambiguous = find_launches(
        slices,
        ids,
        calls.launching,
        work,
        place,
        strings=strings,
        tolerance_ns=tolerance_ns,
        quality=quality,
    )
    process = _process_of_work(slices, launch, place)
    owner = _owner_of_launch(slices, nodes, calls, launch)
    named_itself = named.find(slices.external_id[work], process)
    named_itself[slices.start_ns[named_itself] > slices.start_ns[work]] = -1
    owner = _with_given(slices, nodes, work, np.where(owner >= 0, owner, named_itself))
    _count_odd_links(slices, calls, work, launch, quality)
    return Links(calls, DeviceWork(work, launch, is_ambiguous, owner, process))


def _with_given(slices: OrderedSlices, nodes: Forest, ids: Int64, owner: Int64) -> Int64:
    """The owners, or what the format names instead: a node, or a host slice that is none (an entry
    of a queue that another thread works off), whose owner is that of a call at its start."""
    if slices.owner is None:
        return owner
    given = slices.owner[ids]
    rows = np.flatnonzero(given >= 0)
    is_node = slices.mask_of(NODE_CATEGORIES)[given[rows]]
    mended: Int64 = owner.copy()
    mended[rows[is_node]] = given[rows[is_node]]
    others = rows[~is_node]
    at = given[others]
    around = nodes.innermost(slices.track[at], slices.start_ns[at])
    found = _nearest_operator(slices, nodes, around)
    mended[others] = np.where(found >= 0, found, owner[others])
    return mended


def _trusted(slices: OrderedSlices, calls: Int64, work: Int64, quality: QualityReport) -> bool:
    """Whether external ids name operators: between torch 1.12 and 2.2 they repeat the correlation
    id.
    """
    if is_constant(slices.external_id) and slices.external_id[0] <= 0:
        return True
    both = np.concatenate((calls, work))
    external, correlation = slices.external_id[both], slices.correlation[both]
    given = (external > 0) & (correlation > 0)
    repeated = int((external[given] == correlation[given]).sum())
    if 2 * repeated <= int(given.sum()):
        return True
    quality.add("external_id_untrusted", repeated)
    return False


def _call_owner(
    slices: OrderedSlices, nodes: Forest, calls: Int64, place: Int64, named: OperatorIds
) -> Int64:
    owner = _nearest_operator(slices, nodes, place)
    node = named.find(slices.external_id[calls], slices.process_of(calls))
    start = slices.start_ns[calls]
    around = (
        (node >= 0)
        & (slices.track[node] == slices.track[calls])
        & (slices.start_ns[node] <= start)
        & (slices.end_ns[node] >= start)
    )
    return np.where(around, node, owner)


def _nearest_operator(slices: OrderedSlices, nodes: Forest, place: Int64) -> Int64:
    """Per node the operator it is or lies in; the node itself where it lies in none."""
    places, inverse = np.unique(place, return_inverse=True)
    operators = slices.mask_of((Category.OPERATOR, Category.PYTHON_OPERATOR))
    nearest: Int64 = places.copy()
    rows = np.flatnonzero(places >= 0)
    rows = rows[~operators[places[rows]]]
    above = places[rows]
    for _ in range(MAX_CLIMBS):
        if not len(rows):
            break
        above = nodes.parent[np.searchsorted(nodes.ids, above)]
        inside = above >= 0
        rows, above = rows[inside], above[inside]
        is_operator = operators[above]
        nearest[rows[is_operator]] = above[is_operator]
        rows, above = rows[~is_operator], above[~is_operator]
    if len(rows):
        far = _operators_of_all(nodes, operators)[np.searchsorted(nodes.ids, above)]
        nearest[rows[far >= 0]] = far[far >= 0]
    owner: Int64 = nearest[inverse]
    return owner


def _operators_of_all(nodes: Forest, operators: Bools) -> Int64:
    """Per node of the forest the operator it is or lies in, else -1; however deep it lies."""
    up = positions_in(nodes.ids, nodes.parent)
    up[operators[nodes.ids]] = np.flatnonzero(operators[nodes.ids])
    up = np.append(up, -1)
    while not np.array_equal(up, further := up[up]):
        up = further
    return np.append(nodes.ids, -1)[up[:-1]]


def _owner_of_launch(
    slices: OrderedSlices, nodes: Forest, calls: HostCalls, launch: Int64
) -> Int64:
    """The owner of the call that a launch is; of a node that the format names as launch the
    operator it is or lies in.
    """
    owner = np.full(len(launch), -1, np.int64)
    position = np.searchsorted(calls.ids, launch)
    is_call = (launch >= 0) & (np.append(calls.ids, -1)[position] == launch)
    owner[is_call] = calls.owner[position[is_call]]
    rest = np.flatnonzero((launch >= 0) & ~is_call)
    rest = rest[slices.mask_of(NODE_CATEGORIES)[launch[rest]]] if len(rest) else rest
    owner[rest] = _nearest_operator(slices, nodes, launch[rest])
    return owner


def _process_of_work(slices: OrderedSlices, launch: Int64, place: Int64) -> Int32:
    """The process of each launch; of work without one that of all other work of its device."""
    if not slices.has_several_processes:
        return np.zeros(len(launch), np.int32)
    process = np.full(len(launch), NO_PROCESS, np.int32)
    linked = launch >= 0
    process[linked] = slices.process_of(launch[linked])
    if linked.all():
        return process
    size = int(place.max(initial=-1)) + 1
    first, last = np.full(size, np.iinfo(np.int32).max), np.full(size, NO_PROCESS)
    np.minimum.at(first, place[linked], process[linked])
    np.maximum.at(last, place[linked], process[linked])
    owner = np.where(first == last, last, NO_PROCESS)
    process[~linked] = owner[place[~linked]]
    return process


def _count_odd_links(
    slices: OrderedSlices, calls: HostCalls, work: Int64, launch: Int64, quality: QualityReport
) -> None:
    linked = launch >= 0
    early = slices.start_ns[work[linked]] < slices.start_ns[launch[linked]]
    quality.add("kernel_before_launch", int(early.sum()))
    quality.add("launch_without_operator", int((calls.launching & (calls.owner < 0)).sum()))
