"""Which call launched which work: what slices say they submitted, and flows from host to device."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int64


def launches(
    raw: dict[str, ColumnArrays], row_of: Int64, event_id: Int64, slices: ColumnArrays
) -> Int64 | None:
    """Per slice the row of its launch, of work that names no correlation; None where there is none.

    Args:
        raw: ``submissions`` and ``flows``, by the rows of slices as they were read.
        row_of: Per such row the row of the slice; -1 for none.
        event_id: Per slice the id by which a call submits it.
        slices: The slices.
    """
    is_work = np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    is_open = is_work & (slices["correlation"] == ABSENT)
    if not is_open.any():
        return None
    launch = np.full(is_open.size, ABSENT, np.int64)
    _by_flows(launch, is_open, raw["flows"], row_of, slices)
    _by_submissions(launch, is_open, raw["submissions"], row_of, event_id)
    return launch if (launch != ABSENT).any() else None


def _by_submissions(
    launch: Int64, is_open: Bools, table: ColumnArrays, row_of: Int64, event_id: Int64
) -> None:
    call, wanted = row_of[table["slice"]], table["event_id"]
    work = np.flatnonzero(is_open & (event_id != ABSENT))
    if not work.size or not call.size:
        return
    order = np.argsort(event_id[work], kind="stable")
    work = work[order]
    place = np.minimum(np.searchsorted(event_id[work], wanted), work.size - 1)
    hit = (event_id[work][place] == wanted) & (call >= 0)
    launch[work[place[hit]]] = call[hit]


def _by_flows(
    launch: Int64, is_open: Bools, table: ColumnArrays, row_of: Int64, slices: ColumnArrays
) -> None:
    """Of each flow the first slice of the host launches the work that it reaches."""
    row, flow = row_of[table["slice"]], table["flow"]
    row, flow = row[row >= 0], flow[row >= 0]
    if not row.size:
        return
    on_device = np.isin(slices["category"][row], [int(c) for c in DEVICE_CATEGORIES])
    host = np.flatnonzero(~on_device)
    order = host[np.lexsort((slices["start_ns"][row[host]], flow[host]))]
    flows, first = np.unique(flow[order], return_index=True)
    work = np.flatnonzero(is_open[row])
    if not flows.size or not work.size:
        return
    place = np.minimum(np.searchsorted(flows, flow[work]), flows.size - 1)
    hit = flows[place] == flow[work]
    launch[row[work[hit]]] = row[order[first[place[hit]]]]
