"""Recomputation: calls of modules that run again in the backward pass, and the call each repeats.

Activation checkpointing discards the activations of a module and calls the module again when its
gradients are computed: inside a backward node, on the thread of the backward pass. In the tree of
modules such a call is where the call it repeats is (``docs/views-modules.md#how-it-is-counted``).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


class Recomputation(Struct, frozen=True, eq=False):
    """Recomputed calls of modules; all aligned with the calls.

    Attributes:
        within: Slice of the innermost backward node around the call, -1 for forward calls.
        parent: The call around it; for the outermost recomputed call the one around the call it
            repeats.
        call: The forward call it repeats; the call itself where it is a forward call, or where the
            recording does not hold the repeated one.
    """

    within: Int64
    parent: Int64
    call: Int64


def recomputation(trace: Trace, slices: Int64, identity: Int64, parent: Int64) -> Recomputation:
    """Detect recomputed calls.

    A call repeats the last call of its module before the end of the forward operator whose backward
    node requires it: later calls of the module had not started then.

    Args:
        trace: The trace.
        slices: Slice of each call, ascending.
        identity: Equal for calls of the same module.
        parent: The call around each call in time, -1 for none.
    """
    nodes = backward_nodes(trace)
    within = innermost_around_start(trace, nodes.slice, slices)
    every_call = np.arange(len(slices))
    if not (within >= 0).any():
        return Recomputation(within, parent, every_call)
    outermost = (within >= 0) & (gather(within, parent) != within)
    repeats = np.full(len(slices), -1, np.int64)
    repeats[outermost] = _repeated_calls(trace, slices, identity, np.flatnonzero(outermost), within)
    # The repeated call may itself be recomputed: a checkpoint inside another one.
    origin = gather(nearest_marked(repeats, ~outermost), repeats)
    above = np.where(outermost, gather(parent, origin), parent)
    top = nearest_marked(parent, outermost)
    call = every_call
    while True:
        further = gather(origin, gather(top, call))
        moved = (within[call] >= 0) & (further >= 0)
        if not moved.any():
            return Recomputation(within, above, call)
        call = np.where(moved, further, call)


def _repeated_calls(
    trace: Trace, slices: Int64, identity: Int64, recomputed: Int64, within: Int64
) -> Int64:
    """Per call of ``recomputed`` the call it repeats, -1 where its module has none before it."""
    nodes = backward_nodes(trace)
    start_ns = trace.slices["start_ns"].to_numpy()
    end_ns = start_ns + trace.slices["dur_ns"].to_numpy()
    forward = nodes.forward[np.searchsorted(nodes.slice, within[recomputed])]
    before = start_ns[slices[recomputed]] - 1
    latest = np.where(forward >= 0, np.minimum(end_ns[forward], before), before)
    query = pl.DataFrame({"identity": identity[recomputed], "time_ns": latest, "row": recomputed})
    calls = pl.DataFrame(
        {"identity": identity, "time_ns": start_ns[slices], "call": np.arange(len(slices))}
    )
    matches = query.sort("time_ns").join_asof(
        calls.sort("time_ns"), on="time_ns", by="identity", check_sortedness=False
    )
    return indices(matches.sort("row")["call"])


def sole_module_call(trace: Trace, operators: Int64, slices: Int64, parent: Int64) -> Int64:
    """Per operator the only outermost call of a module that started in it, -1 where there is none
    or more than one.

    Args:
        trace: The trace.
        operators: Slices of operators; -1 has no call.
        slices: Slice of each call, ascending.
        parent: The call around each call in time, -1 for none.
    """
    distinct = distinct_values(operators[operators >= 0])
    around = innermost_around_start(trace, distinct, slices)
    outermost = np.flatnonzero((around >= 0) & (gather(around, parent) != around))
    operator, first, count = np.unique(around[outermost], return_index=True, return_counts=True)
    single = np.full(trace.slices.height + 1, -1, np.int64)
    single[operator[count == 1]] = outermost[first[count == 1]]
    return single[operators]


def has_recomputation_outside_modules(trace: Trace) -> bool:
    """Whether forward operators ran in backward nodes without a Python frame around them, so that
    their module is unknown. Forward operators take sequence numbers, gradient operators do not."""
    operators = trace.operators.filter(
        (pl.col("sequence_number") >= 0)
        & pl.col("forward").is_null()
        & (pl.col("forward_thread").fill_null(0) <= 0)
    )
    rows = operators["slice"].to_numpy()
    inside = rows[backward_nodes(trace).around[rows] >= 0]
    return bool((indices(trace.slices["frame"].gather(inside)) < 0).any())
