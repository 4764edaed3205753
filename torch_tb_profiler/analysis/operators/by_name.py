"""The operators of a selection by name: what they launched themselves, and of some of them all that
was launched inside.

The numbers are those of ``analysis.operators.calls``, without its frames of all
calls: for tables of the few that took most.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.enclosing import in_backward
from torch_tb_profiler.analysis.operators.training_forward import training_forward
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, in_selection
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

_DIRECTIONS = (None, "forward", "backward")


class _Names(Struct, frozen=True, eq=False):
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
    first = np.full(len(trace.strings), -1, np.int64)
    first[names[::-1]] = np.arange(len(names))[::-1]
    present = np.flatnonzero(first >= 0)
    code = present[np.argsort(first[present])]
    row_of_code = np.full(len(trace.strings), -1, np.int64)
    row_of_code[code] = np.arange(len(code))
    of_call = row_of_code[names]
    of_work = np.where(tree.is_own, gather(of_call, tree.owner), -1)
    self_ns = trace.slices["self_ns"].gather(tree.slice).to_numpy()
    return _Names(code, of_call, of_work, self_ns)


@per_split
def _when(trace: Trace) -> pl.DataFrame:
    """Step (-1 for none) and start of each call of the call tree."""
    calls = trace.slices.select("step", "start_ns")[call_tree(trace).slice]
    return calls.with_columns(pl.Series("step", indices(calls["step"])))


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


class Inside(Struct, frozen=True, eq=False):
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
    """What is known of at most 60 names of operators.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    names, tree = _names(trace), call_tree(trace)
    row_of_code = np.full(int(names.code.max(initial=-1)) + 1, -1, np.int64)
    row_of_code[name_codes] = np.arange(len(name_codes))
    of_call = row_of_code[names.code][names.of_call]
    device, used, launching = _launched_inside(trace, selection, of_call, len(name_codes))
    shown = chosen_calls(trace, selection) | launching
    calls = np.flatnonzero((of_call >= 0) & shown)
    group = of_call[calls]
    is_backward = in_backward(trace)[tree.slice[calls]]
    is_forward = training_forward(trace)[calls] & ~is_backward
    directions = _counts(group, np.where(is_backward, 2, is_forward), len(name_codes)) > 0
    own_types = [
        _DIRECTIONS[int(present.argmax())] if present.sum() == 1 else None for present in directions
    ]
    # Verdicts are -1, 0 and 1.
    verdicts = _counts(group, eligible_slices(trace)[tree.slice[calls]] + 1, len(name_codes)) > 0
    eligible = np.where(verdicts[:, 2], 1, np.where(verdicts[:, 1], 0, -1)).astype(np.int8)
    return Inside(device, used, eligible, own_types)


def _counts(group: Int64, kind: Int64 | Int8, count: int) -> Int64:
    """Group × kind (0 to 2): how many there are."""
    return np.bincount(group * 3 + kind, minlength=3 * count).reshape(count, 3)


def _launched_inside(
    trace: Trace, selection: Selection, group: Int64, count: int
) -> tuple[Int64, Int8, Bools]:
    """Time of the selected device work inside calls of each group (-1: of none), the verdict on
    Tensor Cores; and which calls have any inside."""
    tree, verdict = call_tree(trace), kernel_kinds(trace).tensor_core
    rows = np.flatnonzero(device_work_mask(trace, selection) & (tree.owner >= 0))
    calls, parent, call_of_work = _launching(trace)
    call = call_of_work[rows]
    launched = np.zeros((3, len(calls)), np.int64)
    np.add.at(launched[0], call, trace.device_work["dur_ns"].to_numpy()[rows])
    launched[1, call[verdict[rows] == codes.YES]] = 1
    launched[2, call[verdict[rows] == codes.UNKNOWN]] = 1
    is_launching = np.zeros(len(calls), np.bool_)
    is_launching[call] = True
    launching = np.flatnonzero(is_launching)
    bits = np.where(group[calls] >= 0, 1 << np.maximum(group[calls], 0), 0)
    # Calls are inside few combinations of names: they are summed by those first.
    patterns, pattern = factorize(_bits_around(bits, parent)[launching])
    by_pattern = np.zeros((3, len(patterns)), np.int64)
    for own, of_calls in zip(by_pattern, launched, strict=True):
        np.add.at(own, pattern, of_calls[launching])
    sums = by_pattern @ (patterns[:, np.newaxis] >> np.arange(count) & 1)
    used = np.where(sums[1] > 0, codes.YES, np.where(sums[2] > 0, codes.UNKNOWN, codes.NO))
    has_work = np.zeros(len(group), np.bool_)
    if not selection.is_everything:
        climbing = calls[launching]
        has_work[climbing] = True
        while len(climbing):
            climbing = tree.parent[climbing]
            climbing = climbing[climbing >= 0]
            climbing = climbing[~has_work[climbing]]
            has_work[climbing] = True
    return sums[0], used.astype(np.int8), has_work


def _bits_around(bits: Int64, parent: Int64) -> Int64:
    """``bits``, to which those of all elements around each are added: pointers jump over one
    another, so it takes about log2(depth) rounds."""
    jump = parent.copy()
    rows = np.flatnonzero(jump >= 0)
    while len(rows):
        bits[rows] |= bits[jump[rows]]
        jump[rows] = jump[jump[rows]]
        rows = rows[jump[rows] >= 0]
    return bits


@per_trace
def _launching(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """The calls that launched device work and all around them, ascending; of each the place there
    of the call around it, -1 for none; and per row of ``trace.device_work`` that of its call."""
    tree = call_tree(trace)
    launching = np.zeros(len(tree.slice), np.bool_)
    launching[tree.owner[tree.owner >= 0]] = True
    calls = with_ancestors(np.flatnonzero(launching), tree.parent)
    number = np.full(len(launching), -1, np.int64)
    number[calls] = np.arange(len(calls))
    return calls, gather(number, tree.parent[calls]), gather(number, tree.owner)
