"""Who launched what: device work → host call by correlation, host call → the node that made it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport

_LAUNCHING = re.compile(r"launch|memcpy|memset|memcopy|copy|fill|enqueue|submit", re.IGNORECASE)
"""Host calls that put work on a device, by a part of their name, for every vendor of formats.md."""


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
        launch: The host call of the same correlation id.
        owner: The node that made that call.
    """

    ids: Int64
    launch: Int64
    owner: Int64


@dataclass(frozen=True, slots=True)
class Links:
    """All launch links of a trace."""

    calls: HostCalls
    work: DeviceWork


def link(
    slices: OrderedSlices,
    nodes: Forest,
    strings: list[str],
    *,
    tolerance_ns: int,
    quality: QualityReport,
) -> Links:
    """Find every launch and every owner; what stays alone is counted in ``quality``.

    The owner of a call is the innermost operator around its start on its thread, or where there is
    no operator the innermost range. An external id that names an operator around the call settles
    calls at the very edge of an operator, in files whose external ids can be trusted (formats.md
    §0 rule 5). Work whose launch or owner is not in the file has the operator its own id names.
    """
    ids = slices.ids_of((Category.RUNTIME,))
    place = nodes.innermost(slices.track[ids], slices.start_ns[ids])
    work = slices.ids_of(DEVICE_WORK_CATEGORIES)
    named = _OperatorsById(slices, trusted=_trusted(slices, ids, work, quality))
    calls = HostCalls(
        ids=ids,
        launching=_launching(slices, ids, strings),
        within=nest(slices, ids, tolerance_ns),
        place=place,
        owner=_call_owner(slices, nodes, ids, place, named),
    )
    launch = _launch_of(slices, calls, work, quality)
    links = Links(calls, DeviceWork(work, launch, _work_owner(slices, calls, work, launch, named)))
    _count_unlinked(slices, links, quality)
    return links


def _launching(slices: OrderedSlices, calls: Int64, strings: list[str]) -> Bools:
    names = slices.name_code[calls]
    launching = np.zeros(len(strings), np.bool_)
    for code in np.flatnonzero(np.bincount(names, minlength=1)):
        launching[code] = _LAUNCHING.search(strings[code]) is not None
    mask: Bools = launching[names]
    return mask


def _trusted(slices: OrderedSlices, calls: Int64, work: Int64, quality: QualityReport) -> bool:
    """Whether external ids name operators: between torch 1.12 and 2.2 they repeat the correlation
    id (formats.md §0 rule 5).
    """
    both = np.concatenate((calls, work))
    external, correlation = slices.external_id[both], slices.correlation[both]
    given = (external > 0) & (correlation > 0)
    repeated = int((external[given] == correlation[given]).sum())
    if 2 * repeated <= int(given.sum()):
        return True
    quality.add("external_id_untrusted", repeated)
    return False


class _OperatorsById:
    """Nodes by external id. An id that several nodes carry names none of them."""

    def __init__(self, slices: OrderedSlices, *, trusted: bool) -> None:
        nodes = slices.ids_of(NODE_CATEGORIES)
        nodes = nodes[slices.external_id[nodes] > 0] if trusted else nodes[:0]
        ids, first, count = np.unique(
            slices.external_id[nodes], return_index=True, return_counts=True
        )
        self._ids = ids[count == 1]
        self._nodes = nodes[first[count == 1]]

    def find(self, external_id: Int64) -> Int64:
        """Per external id its node, or -1."""
        if len(self._ids) == 0:
            return np.full(len(external_id), -1, np.int64)
        position = np.minimum(np.searchsorted(self._ids, external_id), len(self._ids) - 1)
        return np.where(self._ids[position] == external_id, self._nodes[position], -1)


def _call_owner(
    slices: OrderedSlices, nodes: Forest, calls: Int64, place: Int64, named: _OperatorsById
) -> Int64:
    owner = _nearest_operator(slices, nodes, place)
    node = named.find(slices.external_id[calls])
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
    while len(rows):
        above = nodes.parent[np.searchsorted(nodes.ids, above)]
        inside = above >= 0
        rows, above = rows[inside], above[inside]
        found = operators[above]
        nearest[rows[found]] = above[found]
        rows, above = rows[~found], above[~found]
    owner: Int64 = nearest[inverse]
    return owner


def _launch_of(
    slices: OrderedSlices, calls: HostCalls, work: Int64, quality: QualityReport
) -> Int64:
    """Per work the call of its correlation id. 0 and negative ids mean none.

    Of several calls with one id the first that can launch counts: a runtime call and the driver
    call inside it share an id, and synchronisations repeat the id of what they wait for.
    """
    valid = slices.correlation[calls.ids] > 0
    ids, launching = calls.ids[valid], calls.launching[valid]
    correlation = slices.correlation[ids]
    order = np.lexsort((slices.start_ns[ids], ~launching, correlation))
    known, first = np.unique(correlation[order], return_index=True)
    quality.add("duplicate_correlation", len(ids) - len(known))
    if len(known) == 0:
        return np.full(len(work), -1, np.int64)
    wanted = slices.correlation[work]
    position = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    linked = known[position] == wanted
    unanswered = launching[order][first]
    unanswered[position[linked]] = False
    quality.add("launch_without_kernel", int(unanswered.sum()))
    return np.where(linked, ids[order][first][position], -1)


def _work_owner(
    slices: OrderedSlices, calls: HostCalls, work: Int64, launch: Int64, named: _OperatorsById
) -> Int64:
    node = named.find(slices.external_id[work])
    node[slices.start_ns[node] > slices.start_ns[work]] = -1
    if len(calls.ids) == 0:
        return node
    position = np.minimum(np.searchsorted(calls.ids, launch), len(calls.ids) - 1)
    owner = np.where(launch >= 0, calls.owner[position], -1)
    return np.where(owner >= 0, owner, node)


def _count_unlinked(slices: OrderedSlices, links: Links, quality: QualityReport) -> None:
    calls, work = links.calls, links.work
    linked = work.launch >= 0
    early = slices.start_ns[work.ids[linked]] < slices.start_ns[work.launch[linked]]
    quality.add("kernel_without_launch", int((~linked).sum()))
    quality.add("kernel_before_launch", int(early.sum()))
    quality.add("launch_without_operator", int((calls.launching & (calls.owner < 0)).sum()))
