"""The operators of a selection by name: what they launched themselves, and of some of them all that
was launched inside.

The numbers are those of :mod:`torch_tb_profiler.analysis.operator_calls`, without its frames of all
calls: for tables of the few that took most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.call_tree import call_tree
from torch_tb_profiler.analysis.forests import gather
from torch_tb_profiler.analysis.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.operator_identity import DIRECTIONS, operator_identity
from torch_tb_profiler.analysis.selection import Selection, device_work_mask, in_selection
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_cut, per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    """Names of operators, in order of first call.

    Attributes:
        code: The code of each.
        of_call: Per call of the call tree its name.
        of_work: Per row of ``trace.device_work`` the name of the call that launched it itself, -1
            for none.
        self_ns: Per call its time on the host of its own.
    """

    code: Int64
    of_call: Int64
    of_work: Int64
    self_ns: Int64


@per_trace
def _names(trace: Trace) -> _Names:
    tree = call_tree(trace)
    names = trace.slices["name_code"].to_numpy()[tree.slice]
    present, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    of_call = place[inverse]
    of_work = np.where(tree.is_own, gather(of_call, tree.owner), -1)
    self_ns = trace.slices["self_ns"].gather(tree.slice).to_numpy()
    return _Names(present[order].astype(np.int64), of_call, of_work, self_ns)


@per_cut
def _when(trace: Trace) -> pl.DataFrame:
    """Step and start of each call of the call tree."""
    return trace.slices.select("step", "start_ns")[call_tree(trace).slice]


def chosen_calls(trace: Trace, selection: Selection) -> Bools:
    """Which calls of the call tree are in a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if selection.is_everything:
        return np.ones(len(call_tree(trace).slice), np.bool_)
    calls = _when(trace)
    slices = pl.Series(call_tree(trace).slice)
    return in_selection(trace, selection, calls["step"], calls["start_ns"], slices)


def operators_by_name(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The names with a call or device work in ``selection``, in order of first call: name_code,
    calls, device_self_ns, host_self_ns.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    names, chosen = _names(trace), chosen_calls(trace, selection)
    work = np.flatnonzero(device_work_mask(trace, selection) & (names.of_work >= 0))
    sums = np.zeros((2, len(names.code)), np.int64)
    np.add.at(sums[0], names.of_work[work], trace.device_work["dur_ns"].to_numpy()[work])
    np.add.at(sums[1], names.of_call[chosen], names.self_ns[chosen])
    calls = np.bincount(names.of_call[chosen], minlength=len(names.code))
    frame = pl.DataFrame(
        {
            "name_code": names.code,
            "calls": calls.astype(np.int64),
            "device_self_ns": sums[0],
            "host_self_ns": sums[1],
        }
    )
    return frame.filter((pl.col("calls") > 0) | (pl.col("device_self_ns") > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """Of some names what was launched inside their calls, and what these are.

    Attributes:
        device_ns: Device work launched inside; that inside two calls of the name counts once.
        used: Verdict whether a kernel launched inside uses Tensor Cores.
        eligible: Verdict whether it, or an operator inside, could use them.
        direction: ``forward`` or ``backward``; None where the recording does not tell, and where
            calls of a name are of both.
    """

    device_ns: Int64
    used: Int8
    eligible: Int8
    direction: list[str | None]


def inside_of_names(trace: Trace, selection: Selection, name_codes: Int64) -> Inside:
    """What is known of some names of operators.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    names, tree = _names(trace), call_tree(trace)
    place = np.full(int(names.code.max(initial=-1)) + 1, -1, np.int64)
    place[name_codes] = np.arange(len(name_codes))
    of_name = place[names.code]
    device, used, launching = _launched_inside(trace, selection, of_name, len(name_codes))
    of_call = of_name[names.of_call]
    shown = chosen_calls(trace, selection) | launching
    calls = np.flatnonzero((of_call >= 0) & shown)
    group = of_call[calls]
    eligible = np.full(len(name_codes), codes.UNKNOWN, np.int8)
    np.maximum.at(eligible, group, eligible_slices(trace)[tree.slice[calls]])
    identity = operator_identity(trace)
    of_calls = identity.direction[identity.operator[calls]]
    told = [_one_direction(of_calls[group == number]) for number in range(len(name_codes))]
    return Inside(device, used, eligible, told)


def _one_direction(directions: Int8) -> str | None:
    """The direction that all calls have."""
    present = np.unique(directions)
    return DIRECTIONS[int(present[0])] if len(present) == 1 else None


def _launched_inside(
    trace: Trace, selection: Selection, group: Int64, count: int
) -> tuple[Int64, Int8, Bools]:
    """Time of the selected device work inside calls of each group of names (-1: of none), the
    verdict on Tensor Cores; and which calls have any inside."""
    tree, verdict, inside = call_tree(trace), kernel_kinds(trace).tensor_core, _names_around(trace)
    rows = np.flatnonzero(device_work_mask(trace, selection) & (tree.owner >= 0))
    place = inside.place_of_work[rows]
    launched = np.zeros((3, len(inside.launching)), np.int64)
    np.add.at(launched[0], place, trace.device_work["dur_ns"].to_numpy()[rows])
    for row, said in ((1, codes.YES), (2, codes.UNKNOWN)):
        launched[row, place[verdict[rows] == said]] = 1
    of_pair = group[inside.name]
    pairs = np.flatnonzero(of_pair >= 0)
    sums = np.zeros((3, count), np.int64)
    for into, values in zip(sums, launched, strict=True):
        np.add.at(into, of_pair[pairs], values[inside.place[pairs]])
    used = np.where(sums[1] > 0, codes.YES, np.where(sums[2] > 0, codes.UNKNOWN, codes.NO))
    is_there = np.zeros(len(inside.launching), np.bool_)
    is_there[place] = True
    has_work = np.zeros(len(tree.slice), np.bool_)
    above = inside.launching[is_there]
    while len(above):
        has_work[above] = True
        above = tree.parent[above]
        above = above[(above >= 0) & ~has_work[above]]
    return sums[0], used.astype(np.int8), has_work


@dataclass(frozen=True, slots=True, eq=False)
class _NamesAround:
    """The calls that launched device work and the names around each, its own included.

    Attributes:
        launching: The calls, ascending.
        place_of_work: Per row of ``trace.device_work`` the place of its call in ``launching``, -1
            for none.
        place, name: Pairs of a place in ``launching`` and a name, each once.
    """

    launching: Int64
    place_of_work: Int64
    place: Int64
    name: Int64


@per_trace
def _names_around(trace: Trace) -> _NamesAround:
    tree, names = call_tree(trace), _names(trace)
    launching = np.unique(tree.owner[tree.owner >= 0])
    number = np.full(len(tree.slice) + 1, -1, np.int64)
    number[launching] = np.arange(len(launching))
    place, above = np.arange(len(launching)), launching
    pairs = []
    while len(place):
        pairs.append(place * len(names.code) + names.of_call[above])
        above = tree.parent[above]
        inside = above >= 0
        place, above = place[inside], above[inside]
    every = np.unique(np.concatenate([np.empty(0, np.int64), *pairs]))
    whole = max(len(names.code), 1)
    return _NamesAround(launching, number[tree.owner], every // whole, every % whole)
