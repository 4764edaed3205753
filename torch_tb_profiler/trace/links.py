"""Who launched what: device work → host call by correlation, host call → the node that made it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.ordering import Mask, OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport

_LAUNCHING = re.compile(r"launch|memcpy|memset|memcopy|copy|fill|enqueue|submit", re.IGNORECASE)
"""Host calls that put work on a device, by a part of their name, for every vendor of formats.md."""


@dataclass(frozen=True, slots=True)
class Links:
    """Links by id, -1 where there is none.

    Attributes:
        calls: Ids of the host calls into a runtime or driver, ascending.
        call_place: Per call the innermost node around its start in time.
        call_owner: Per call the node that made it: as ``call_place``, or the operator its external
            id names.
        work: Ids of kernels, copies and sets, ascending.
        launch: Per work its host call.
        work_owner: Per work the node that made the call.
    """

    calls: Int64
    call_place: Int64
    call_owner: Int64
    work: Int64
    launch: Int64
    work_owner: Int64


def link(slices: OrderedSlices, nodes: Forest, strings: list[str], quality: QualityReport) -> Links:
    """All launch links of a trace; what stays unlinked is counted in ``quality``."""
    calls = slices.ids_of((Category.RUNTIME,))
    work = slices.ids_of(DEVICE_WORK_CATEGORIES)
    launches = _launching_mask(slices, calls, strings)
    launch = _launch_of(slices, calls, launches, work, quality)
    place = nodes.innermost(slices.track[calls], slices.start_ns[calls])
    operators = _OperatorsById(slices, trusted=_trusted(slices, calls, work, quality))
    owner = place.copy()
    named = operators.find(slices.external_id[calls])
    around = (
        (named >= 0)
        & (slices.track[named] == slices.track[calls])
        & (slices.start_ns[named] <= slices.start_ns[calls])
        & (slices.end_ns[named] >= slices.start_ns[calls])
    )
    owner[around] = named[around]
    work_owner = _work_owner(slices, calls, owner, work, launch, operators)
    _count_unlinked(slices, calls, launches, owner, work, launch, quality)
    return Links(calls, place, owner, work, launch, work_owner)


def _launching_mask(slices: OrderedSlices, calls: Int64, strings: list[str]) -> Mask:
    codes, inverse = np.unique(slices.name_code[calls], return_inverse=True)
    launching = np.array([bool(_LAUNCHING.search(strings[code])) for code in codes], np.bool_)
    return launching[inverse] if len(codes) else np.zeros(0, np.bool_)


def _launch_of(
    slices: OrderedSlices, calls: Int64, launches: Mask, work: Int64, quality: QualityReport
) -> Int64:
    """Per work the call of its correlation id. 0 and negative ids mean none.

    Of several calls with one id the first that can launch counts: a runtime call and the driver
    call inside it share an id, and synchronisations repeat the id of what they wait for.
    """
    valid = slices.correlation[calls] > 0
    calls, launches = calls[valid], launches[valid]
    correlation = slices.correlation[calls]
    order = np.lexsort((slices.start_ns[calls], ~launches, correlation))
    ids, first = np.unique(correlation[order], return_index=True)
    quality.add("duplicate_correlation", len(calls) - len(ids))
    if len(ids) == 0:
        return np.full(len(work), -1, np.int64)
    wanted = slices.correlation[work]
    position = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[position] == wanted, calls[order][first][position], -1)


def _trusted(slices: OrderedSlices, calls: Int64, work: Int64, quality: QualityReport) -> bool:
    """Whether external ids name operators: from torch 1.9 or so to 2.2 they repeat the correlation
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

    def __init__(self, slices: OrderedSlices, trusted: bool) -> None:
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


def _work_owner(
    slices: OrderedSlices,
    calls: Int64,
    call_owner: Int64,
    work: Int64,
    launch: Int64,
    operators: _OperatorsById,
) -> Int64:
    """The owner of the launch; without a launch, the operator that the work's own id names."""
    named = operators.find(slices.external_id[work])
    named[slices.start_ns[named] > slices.start_ns[work]] = -1
    if len(calls) == 0:
        return named
    position = np.minimum(np.searchsorted(calls, launch), len(calls) - 1)
    return np.where(launch >= 0, call_owner[position], named)


def _count_unlinked(
    slices: OrderedSlices,
    calls: Int64,
    launches: Mask,
    owner: Int64,
    work: Int64,
    launch: Int64,
    quality: QualityReport,
) -> None:
    linked = launch >= 0
    quality.add("kernel_without_launch", int((~linked).sum()))
    quality.add(
        "kernel_before_launch",
        int((slices.start_ns[work[linked]] < slices.start_ns[launch[linked]]).sum()),
    )
    launched = np.unique(slices.correlation[work])
    asked = slices.correlation[calls[launches & (slices.correlation[calls] > 0)]]
    quality.add("launch_without_kernel", len(np.setdiff1d(asked, launched)))
    quality.add("launch_without_operator", int((launches & (owner < 0)).sum()))
