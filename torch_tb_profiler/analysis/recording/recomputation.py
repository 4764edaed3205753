"""Calls of modules that run again in the backward pass, and the forward call each one repeats.

Activation checkpointing throws the activations of a module away and calls the module again when
its gradients are computed: inside a backward node, on the thread of the backward pass. Such a call
has the place of the call it repeats in the tree of modules
(``docs/views-modules.md#how-it-is-counted``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Recomputation:
    """Which calls of modules ran again; all aligned with the calls.

    Attributes:
        within: Slice of the innermost backward node around the call, -1 for forward calls.
        parent: The call around it; for the outermost call of what ran again that around the call
            it repeats.
        call: The forward call whose work was done again; the call itself where it is one, or where
            the recording does not hold it.
    """

    within: Int64
    parent: Int64
    call: Int64


def recomputation(trace: Trace, slices: Int64, identity: Int64, parent: Int64) -> Recomputation:
    """Find what ran again.

    A call repeats the last call of its module before the end of the forward operator whose
    backward node asked for it: calls of the same module further on were not yet made then.

    Args:
        trace: The trace.
        slices: Slice of each call, ascending.
        identity: Equal for calls of the same module.
        parent: The call around each call in time, -1 for none.
    """
    nodes = backward_nodes(trace)
    within = innermost_around_start(trace, nodes.slice, slices)
    count = np.arange(len(slices))
    if not (within >= 0).any():
        return Recomputation(within, parent, count)
    outermost = (within >= 0) & (gather(within, parent) != within)
    repeats = np.full(len(slices), -1, np.int64)
    repeats[outermost] = _repeated(trace, slices, identity, np.flatnonzero(outermost), within)
    # What a call repeats may itself be part of what ran again: a checkpoint inside another one.
    origin = gather(nearest_marked(repeats, ~outermost), repeats)
    above = np.where(outermost, gather(parent, origin), parent)
    top = nearest_marked(parent, outermost)
    call = count
    while True:
        further = gather(origin, gather(top, call))
        moved = (within[call] >= 0) & (further >= 0)
        if not moved.any():
            return Recomputation(within, above, call)
        call = np.where(moved, further, call)


def _repeated(trace: Trace, slices: Int64, identity: Int64, again: Int64, within: Int64) -> Int64:
    """Per call of ``again`` the call it repeats, -1 where none of its module comes before it."""
    nodes = backward_nodes(trace)
    start_ns = trace.slices["start_ns"].to_numpy()
    end_ns = start_ns + trace.slices["dur_ns"].to_numpy()
    forward = nodes.forward[np.searchsorted(nodes.slice, within[again])]
    before = start_ns[slices[again]] - 1
    latest = np.where(forward >= 0, np.minimum(end_ns[forward], before), before)
    asked = pl.DataFrame({"identity": identity[again], "time_ns": latest, "row": again})
    calls = pl.DataFrame(
        {"identity": identity, "time_ns": start_ns[slices], "call": np.arange(len(slices))}
    )
    found = asked.sort("time_ns").join_asof(
        calls.sort("time_ns"), on="time_ns", by="identity", check_sortedness=False
    )
    return indices(found.sort("row")["call"])


def carried_by_one_call(trace: Trace, operators: Int64, slices: Int64, parent: Int64) -> Int64:
    """Per operator the only outermost call of a module that started in it, -1 where there is
    none or there are several.

    Args:
        trace: The trace.
        operators: Slices of operators; -1 has no call.
        slices: Slice of each call, ascending.
        parent: The call around each call in time, -1 for none.
    """
    asked = np.unique(operators[operators >= 0])
    around = innermost_around_start(trace, asked, slices)
    outermost = np.flatnonzero((around >= 0) & (gather(around, parent) != around))
    place, first, count = np.unique(around[outermost], return_index=True, return_counts=True)
    single = np.full(trace.slices.height + 1, -1, np.int64)
    single[place[count == 1]] = outermost[first[count == 1]]
    return single[operators]


def has_unframed_recomputation(trace: Trace) -> bool:
    """Whether forward operators ran in backward nodes where no python frame is around them, so
    that nothing tells their module: they take sequence numbers, operators of gradients do not."""
    operators = trace.operators.filter(
        (pl.col("sequence_number") >= 0)
        & pl.col("forward").is_null()
        & (pl.col("forward_thread").fill_null(0) <= 0)
    )
    rows = operators["slice"].to_numpy()
    inside = rows[backward_nodes(trace).around[rows] >= 0]
    return bool((indices(trace.slices["frame"].gather(inside)) < 0).any())
