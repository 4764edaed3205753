"""How busy ranks and roles are over the time of a job, in equal parts of it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import (
    WeightProfile,
    intersect,
    total_within,
    union,
)
from torch_tb_profiler.analysis.job_roles.activity import JobActivity
from torch_tb_profiler.trace.columns import Float64, Int64

BINS = 240
"""Parts of the time: a part is some pixels of a picture as wide as a page."""

UNKNOWN = ""
"""The lane of ranks whose role is unknown."""


class BusyLanes(Struct, frozen=True, eq=False):
    """How busy each lane is.

    Attributes:
        names: Of the lanes.
        start_ns: Starts of the parts, since the start of the job.
        busy: Per lane and part the busy share of the recorded time, 0 to 1; nan where nothing is
            recorded.
    """

    names: list[str]
    start_ns: Int64
    busy: Float64


def rank_lanes(activity: JobActivity) -> BusyLanes:
    """A lane per rank."""
    edges = _edges(activity)
    count = len(activity.workers)
    worker = np.repeat(np.arange(count), len(edges) - 1)
    start = activity.on_axis(worker, np.tile(edges[:-1], count))
    end = activity.on_axis(worker, np.tile(edges[1:], count))
    shown = union(*activity.bounds(activity.windows))
    busy = total_within(intersect(activity.busy, shown), start, end)
    recorded = total_within(shown, start, end)
    shape = (count, len(edges) - 1)
    return BusyLanes(activity.workers, edges[:-1], _shares(busy, recorded).reshape(shape))


def role_lanes(activity: JobActivity) -> BusyLanes:
    """A lane per role: the mean of its ranks while they have it."""
    edges = _edges(activity)
    windows = activity.windows
    role = windows["role"].fill_null(UNKNOWN).to_numpy()
    names = [*activity.roles, *([UNKNOWN] if (role == UNKNOWN).any() else [])]
    pieces = activity.busy_pieces(windows)
    of_piece = role[pieces["window"].to_numpy()]
    start, end = windows["start_ns"].to_numpy(), windows["end_ns"].to_numpy()
    work_start, work_end = pieces["start_ns"].to_numpy(), pieces["end_ns"].to_numpy()
    shares = []
    for name in names:
        shown = _integrals(start[role == name], end[role == name], edges)
        mine = of_piece == name
        busy = _integrals(work_start[mine], work_end[mine], edges)
        shares.append(_shares(busy, shown))
    return BusyLanes(names, edges[:-1], np.array(shares).reshape(len(names), len(edges) - 1))


def _integrals(start_ns: Int64, end_ns: Int64, edges: Int64) -> Float64:
    return WeightProfile(start_ns, end_ns, np.ones(len(start_ns))).integrals(edges[:-1], edges[1:])


def _edges(activity: JobActivity) -> Int64:
    """Edges of the parts of the time in which anything of the selection is recorded."""
    inside = activity.windows
    first, last = inside["start_ns"].min(), inside["end_ns"].max()
    if not isinstance(first, int) or not isinstance(last, int) or last <= first:
        return np.zeros(1, np.int64)
    edges = np.linspace(first, last, min(BINS, last - first) + 1)
    return edges.astype(np.int64)


def _shares(busy: Float64 | Int64, shown: Float64 | Int64) -> Float64:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Float64 = np.where(shown > 0, np.clip(busy / shown, 0.0, 1.0), np.nan)
    return shares
