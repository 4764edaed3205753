"""Where in a step a rank takes longer: between which of its calls, beside ranks with as many."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.peers import lower_quartile
from torch_tb_profiler.analysis.ranks.replay import RankProgram
from torch_tb_profiler.analysis.ranks.segments import RankEvent
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

_FEWEST = 3
"""So many ranks with as many calls say what is usual."""


def divided_excess(
    program: RankProgram, rank: Int64, part_ns: Float64, excess_ns: Float64
) -> Float64:
    """The excess of ranks, divided among their events: in proportion to what each takes longer
    than usual among the ranks with as many calls in each step; where none does, to what it takes.

    Two calls of such ranks are the same ones, while waits come earlier or later from rank to rank:
    what is compared is all that a rank does between two calls.

    Args:
        program: The chains.
        rank: Per event its rank.
        part_ns: Per event the part of the own time that is too long.
        excess_ns: By how much, ``[ranks, steps]``, at least 0.

    Returns:
        Per event, at most ``part_ns``.
    """
    cells = (rank, program.step)
    is_call = program.event == RankEvent.CALL
    calls = np.zeros_like(excess_ns, dtype=np.int64)
    np.add.at(calls, (rank[is_call], program.step[is_call]), 1)
    ordinal = _calls_before(cells[0] * program.steps + cells[1], is_call)
    above = np.zeros_like(part_ns)
    alike = np.unique(calls, axis=0, return_inverse=True)[1].ravel()
    for number in np.flatnonzero(np.bincount(alike) >= _FEWEST).tolist():
        members = alike == number
        events = np.flatnonzero(members[rank])
        sizes = calls[np.argmax(members)] + 1
        at = (
            (np.cumsum(members) - 1)[rank[events]],
            (np.cumsum(sizes) - sizes)[program.step[events]] + ordinal[events],
        )
        values = np.zeros((int(members.sum()), int(sizes.sum())))
        np.add.at(values, at, part_ns[events])
        longer = np.maximum(values - lower_quartile(values), 0.0) / np.maximum(values, 1.0)
        above[events] = part_ns[events] * longer[at]
    total = np.zeros_like(excess_ns)
    np.add.at(total, cells, above)
    weights = np.where((total > 0)[cells], above, part_ns)
    total = np.zeros_like(excess_ns)
    np.add.at(total, cells, weights)
    scale = excess_ns / np.maximum(total, 1.0)
    return np.minimum(weights * scale[cells], part_ns)


def _calls_before(cell: Int64, is_call: Bools) -> Int64:
    """Per event how many calls come before it in its cell (rank and step)."""
    before = np.cumsum(is_call, dtype=np.int64) - is_call
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    lengths = np.diff(np.append(starts, len(cell)))
    ordinal: Int64 = before - np.repeat(before[starts], lengths)
    return ordinal
