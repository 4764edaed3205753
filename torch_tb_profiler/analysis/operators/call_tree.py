"""The calls of operators as a tree of their own, and sums of device work over it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class CallTree(Struct, frozen=True, eq=False):
    """Calls of operators; an absorbed one is none, its work is that of its absorber.

    Attributes:
        slice: Slice of each call, ascending.
        parent: The call around each call, whatever ranges stand between; -1 for none.
        owner: Per row of ``trace.device_work`` the call it was launched in, -1 for none.
        is_own: Per row of ``trace.device_work`` whether that call launched it itself.
    """

    slice: Int64
    parent: Int64
    owner: Int64
    is_own: Bools


@per_trace
def call_tree(trace: Trace) -> CallTree:
    """The calls of operators of ``trace``; made once."""
    slices = trace.slices
    is_call = operator_mask(trace) & slices["absorbed_into"].is_null().to_numpy()
    ids = np.flatnonzero(is_call)
    number = np.full(slices.height, -1, np.int64)
    number[ids] = np.arange(len(ids))
    parent = indices(slices["parent"])
    call_of = gather(number, nearest_marked(parent, is_call))
    owner = indices(trace.device_work["owner"])
    return CallTree(
        slice=ids,
        parent=gather(call_of, parent[ids]),
        owner=gather(call_of, owner),
        is_own=gather(number, owner) >= 0,
    )


def device_sums_of_calls(trace: Trace, marked: Bools) -> tuple[Int64, Int64]:
    """Per call of :func:`call_tree` the time of the ``marked`` rows of ``trace.device_work``: what
    it launched itself, and with all calls inside."""
    return sums_of_calls(call_tree(trace), marked, trace.device_work["dur_ns"].to_numpy())


def sums_of_calls(
    tree: CallTree, marked: Bools, amounts: Int64 | None = None
) -> tuple[Int64, Int64]:
    """Per call of ``tree`` the sum of the ``amounts`` of the ``marked`` rows of device work (None:
    how many those are): what it launched itself, and with all calls inside."""
    own, total = (np.zeros(len(tree.slice), np.int64) for _ in range(2))
    rows = np.flatnonzero(marked & (tree.owner >= 0))
    of_rows = np.ones(len(rows), np.int64) if amounts is None else amounts[rows]
    np.add.at(total, tree.owner[rows], of_rows)
    is_own = tree.is_own[rows]
    np.add.at(own, tree.owner[rows[is_own]], of_rows[is_own])
    climbing = np.flatnonzero(total)
    amount = total[climbing]
    while len(climbing):
        climbing = tree.parent[climbing]
        inside = climbing >= 0
        climbing, amount = climbing[inside], amount[inside]
        np.add.at(total, climbing, amount)
    return own, total
