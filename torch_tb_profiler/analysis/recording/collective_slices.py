"""Which slices carry the metadata of a collective that takes part in communication."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def moving_slices(trace: Trace) -> Int64:
    """Ids of the slices with metadata of a collective (``init`` and ``wait`` are none: they move
    nothing), in the order of ``trace.collectives``."""
    table = trace.collectives
    moves = codes.present_names_match(trace, table["collective_code"], _moves, absent=True)
    described: Int64 = table["slice"].to_numpy()[moves]
    return described


def _moves(name: str) -> bool:
    known = communication.entry(communication.collective(name) or "")
    return known is None or known.moves_data
