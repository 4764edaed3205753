"""What a host thread did during some stretches of time, in a few words.

Definitions: ``docs/views-idle.md#gaps``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NAMES = 2
"""Names that are told of a stretch."""

_WORK = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.OPTIMIZER,
    Category.DATALOADER,
    Category.RUNTIME,
)
_AROUND = (*PYTHON_CATEGORIES, Category.ANNOTATION)


def host_did(trace: Trace, tracks: Int64, start_ns: Int64, end_ns: Int64) -> list[str | None]:
    """Per stretch the outermost operators and calls of its thread with most of it, else the
    innermost Python function or range around its middle; None where nothing was recorded.

    Args:
        trace: The recording.
        tracks: The thread of each stretch, -1 where none is known.
        start_ns: Start of each.
        end_ns: End of each.
    """
    did = []
    for track, start, end in zip(tracks.tolist(), start_ns.tolist(), end_ns.tolist(), strict=True):
        said = None
        if track >= 0:
            said = _working(trace, track, start, end) or _inside(trace, track, (start + end) // 2)
        did.append(said)
    return did


@per_trace
def feeders(trace: Trace) -> dict[int, int]:
    """Per device (-1: not numbered) the thread that launches most of its work, by track."""
    work = trace.device_work.drop_nulls("launch")
    device = indices(work["device"])
    track = trace.slices["track"].to_numpy()[indices(work["launch"])]
    return {
        number: int(np.bincount(track[device == number]).argmax())
        for number in np.unique(device).tolist()
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Slices of one thread, by start.

    Attributes:
        id: Their ids.
        start_ns, end_ns: When they ran.
        reach_ns: The last end so far.
    """

    id: Int64
    start_ns: Int64
    end_ns: Int64
    reach_ns: Int64


@per_trace
def _outermost(trace: Trace) -> dict[int, _Rows]:
    """Per thread operators, calls and loading that are in none of these."""
    works = np.isin(trace.slices["category"].to_numpy(), _WORK)
    inside = gather(works.astype(np.int64), indices(trace.slices["parent"])) == 1
    return _by_track(trace, np.flatnonzero(works & ~inside))


@per_trace
def _around(trace: Trace) -> dict[int, _Rows]:
    """Per thread Python functions, modules and ranges."""
    return _by_track(trace, np.flatnonzero(np.isin(trace.slices["category"].to_numpy(), _AROUND)))


def _by_track(trace: Trace, ids: Int64) -> dict[int, _Rows]:
    if not len(ids):
        return {}
    slices = trace.slices.select("track", "start_ns", "dur_ns")[ids]
    start = slices["start_ns"].to_numpy()
    end = start + slices["dur_ns"].to_numpy()
    track = slices["track"].to_numpy()
    edges = np.append(np.flatnonzero(np.append(True, np.diff(track) != 0)), len(track)).tolist()
    return {
        int(track[a]): _Rows(ids[a:b], start[a:b], end[a:b], np.maximum.accumulate(end[a:b]))
        for a, b in itertools.pairwise(edges)
    }


def _working(trace: Trace, track: int, start_ns: int, end_ns: int) -> str | None:
    rows = _outermost(trace).get(track)
    if rows is None:
        return None
    first = int(np.searchsorted(rows.reach_ns, start_ns, "right"))
    near = slice(first, int(np.searchsorted(rows.start_ns, end_ns)))
    spent = np.minimum(rows.end_ns[near], end_ns) - np.maximum(rows.start_ns[near], start_ns)
    inside = spent > 0
    if not inside.any():
        return None
    ids = rows.id[near][inside]
    names, number = np.unique(trace.slices["name_code"].to_numpy()[ids], return_inverse=True)
    sums = np.bincount(number, spent[inside])
    longest = np.argsort(-sums, kind="stable")[:NAMES]
    return ", ".join(
        f"{trace.text(int(names[row]))} {100 * sums[row] / (end_ns - start_ns):.0f} %"
        for row in longest.tolist()
    )


def _inside(trace: Trace, track: int, moment_ns: int) -> str | None:
    """The innermost function or range around a moment: the one that began last before it, or what
    that lies in."""
    rows = _around(trace).get(track)
    if rows is None:
        return None
    place = int(np.searchsorted(rows.start_ns, moment_ns, "right")) - 1
    if place < 0 or rows.reach_ns[place] <= moment_ns:
        return None
    at: int | None = int(rows.id[place])
    slices = trace.slices
    while at is not None:
        if slices["start_ns"][at] + slices["dur_ns"][at] > moment_ns:
            return trace.text(slices["name_code"][at])
        at = slices["parent"][at]
    return None
