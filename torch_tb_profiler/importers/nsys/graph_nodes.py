"""Kernels of replayed CUDA graphs."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.parts import Part
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.quality import QualityReport


def owners(
    database: Database,
    tracks: Tracks,
    ranges: Part,
    global_pids: Int64,
    graph_nodes: Int64,
    quality: QualityReport,
) -> Int64:
    """Per piece of device work the row, among the slices of ``ranges``, of the range that was open
    when its graph node was created; :data:`ABSENT` for none.

    Args:
        database: The export.
        tracks: The tracks of the ranges.
        ranges: What was read of the ranges.
        global_pids: Process of each piece.
        graph_nodes: ``graphNodeId`` of each, or :data:`ABSENT`.
        quality: Is told of nodes that are not in the export.
    """
    return np.full(len(graph_nodes), ABSENT)
