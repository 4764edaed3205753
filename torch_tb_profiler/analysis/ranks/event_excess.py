"""Where in a step a rank takes longer: before which of its events, beside ranks with the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from torch_tb_profiler.analysis.ranks.peers import lower_quartile
from torch_tb_profiler.analysis.ranks.replay import RankProgram
from torch_tb_profiler.trace.columns import Float64, Int64

_FEWEST = 3
"""So many ranks of one chain say what is usual."""


def divided_excess(
    program: RankProgram, rank: Int64, part_ns: Float64, excess_ns: Float64
) -> Float64:
    """The excess of ranks, divided among their events: in proportion to what each takes longer
    than usual among the ranks with the same events; where none does, to what it takes.

    Args:
        program: The chains.
        rank: Per event its rank.
        part_ns: Per event the part of the own time that is too long.
        excess_ns: By how much, ``[ranks, steps]``, at least 0.

    Returns:
        Per event, at most ``part_ns``.
    """
    above = np.zeros_like(part_ns)
    for events in _same_chains(program):
        values = part_ns[events]
        above[events] = np.maximum(values - lower_quartile(values), 0.0)
    cells = (rank, program.step)
    total = np.zeros_like(excess_ns)
    np.add.at(total, cells, above)
    weights = np.where((total > 0)[cells], above, part_ns)
    total = np.zeros_like(excess_ns)
    np.add.at(total, cells, weights)
    scale = excess_ns / np.maximum(total, 1.0)
    return np.minimum(weights * scale[cells], part_ns)


def _same_chains(program: RankProgram) -> list[Int64]:
    """Events of the ranks whose chains are the same, ``[ranks, events]`` per chain."""
    rows: dict[tuple[bytes, bytes], list[int]] = {}
    first = program.first.tolist()
    for number, (start, end) in enumerate(pairwise(first)):
        chain = program.event[start:end].tobytes(), program.step[start:end].tobytes()
        rows.setdefault(chain, []).append(number)
    return [
        program.first[ranks][:, None] + np.arange(first[ranks[0] + 1] - first[ranks[0]])
        for ranks in rows.values()
        if len(ranks) >= _FEWEST
    ]
