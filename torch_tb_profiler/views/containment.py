"""Which of some host slices another one begins in."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.forests import gather, indices, nearest_marked


def innermost_around_start(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` on its track that its start lies in, else -1.

    In time only: a slice that sticks out of a candidate, and a launch whose owner is an operator
    further out, are found too. Candidates are nodes; ``slice_id`` may hold -1.
    """
    slices = trace.slices
    found = (
        slices[np.maximum(slice_id, 0)]
        .select("track", "start_ns")
        .with_row_index("row")
        .sort("start_ns")
        .join_asof(
            slices[candidates].select("track", "start_ns", "id").sort("start_ns", "id"),
            on="start_ns",
            by="track",
            check_sortedness=False,
        )
        .sort("row")
    )
    start = found["start_ns"].to_numpy()
    around = np.where(slice_id >= 0, indices(found["id"]), -1)
    ends = (slices["start_ns"] + slices["dur_ns"]).to_numpy()
    parent = indices(slices["parent"])
    nearest = nearest_marked(parent, _mask(slices, candidates))
    over = np.flatnonzero((around >= 0) & (ends[around] <= start))
    while over.size:
        around[over] = gather(nearest, parent[around[over]])
        over = over[(around[over] >= 0) & (ends[around[over]] <= start[over])]
    return around


def innermost_around(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` among itself and the nodes around it, else -1;
    ``slice_id`` may hold -1."""
    nearest = nearest_marked(indices(trace.slices["parent"]), _mask(trace.slices, candidates))
    return gather(nearest, slice_id)


def _mask(slices: pl.DataFrame, ids: Int64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(slices.height, np.bool_)
    mask[ids] = True
    return mask
