"""Launches of device work: by the events that calls submitted, and by flows from host to device."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int64


def launches(
    raw: dict[str, ColumnArrays], row_of: Int64, event_id: Int64, slices: ColumnArrays
) -> Int64 | None:
    """Per slice the row of its launch, for work without a correlation id; None without any.

    Args:
        raw: ``submissions`` and ``flows``, with the rows of slices as they were read.
        row_of: Per such row, the row of the slice; -1 for none.
        event_id: Per slice the id under which a call submitted it.
        slices: The slices.
    """
    is_work = np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    needs_launch = is_work & (slices["correlation"] == ABSENT)
    if not needs_launch.any():
        return None
    launch = np.full(needs_launch.size, ABSENT, np.int64)
    _by_flows(launch, needs_launch, raw["flows"], row_of, slices)
    _by_submissions(launch, needs_launch, raw["submissions"], row_of, event_id)
    return launch if (launch != ABSENT).any() else None


def _by_submissions(
    launch: Int64, needs_launch: Bools, table: ColumnArrays, row_of: Int64, event_id: Int64
) -> None:
    call, submitted = row_of[table["slice"]], table["event_id"]
    work = np.flatnonzero(needs_launch & (event_id != ABSENT))
    if not work.size or not call.size:
        return
    order = np.argsort(event_id[work], kind="stable")
    work = work[order]
    index = np.minimum(np.searchsorted(event_id[work], submitted), work.size - 1)
    is_match = (event_id[work][index] == submitted) & (call >= 0)
    launch[work[index[is_match]]] = call[is_match]


def _by_flows(
    launch: Int64, needs_launch: Bools, table: ColumnArrays, row_of: Int64, slices: ColumnArrays
) -> None:
    """The first host slice of each flow launches the work that the flow reaches."""
    row, flow = row_of[table["slice"]], table["flow"]
    row, flow = row[row >= 0], flow[row >= 0]
    if not row.size:
        return
    on_device = np.isin(slices["category"][row], [int(c) for c in DEVICE_CATEGORIES])
    host = np.flatnonzero(~on_device)
    order = host[np.lexsort((slices["start_ns"][row[host]], flow[host]))]
    flows, first = np.unique(flow[order], return_index=True)
    work = np.flatnonzero(needs_launch[row])
    if not flows.size or not work.size:
        return
    index = np.minimum(np.searchsorted(flows, flow[work]), flows.size - 1)
    is_match = flows[index] == flow[work]
    launch[row[work[is_match]]] = row[order[first[index[is_match]]]]
