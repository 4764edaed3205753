"""A short description of what the host did during a gap.

Definitions: ``docs/views-idle.md#gaps``.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NAMES = 2
"""Operators and calls that are named per stretch."""

_WORK = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.OPTIMIZER,
    Category.DATALOADER,
    Category.RUNTIME,
)
LEAST_PCT = 0.5
"""Share of a stretch from which a second name is shown."""

LEAST_OF_GAP = 0.5
"""Share of a stretch from which a device API call inside operators is named too."""

_FRAMES = (*PYTHON_CATEGORIES, Category.ANNOTATION)


def describe_host(trace: Trace, tracks: Int64, start_ns: Int64, end_ns: Int64) -> list[str | None]:
    """Per stretch the outermost operators and calls of its thread that took most of it, with the
    device API call in them that took at least half of it, else the innermost Python function or
    range around its middle; None where nothing was recorded.

    Args:
        trace: The recording.
        tracks: The thread of each stretch, -1 where none is known.
        start_ns: Start of each.
        end_ns: End of each.
    """
    texts = []
    for track, start, end in zip(tracks.tolist(), start_ns.tolist(), end_ns.tolist(), strict=True):
        text = None
        if track >= 0:
            text = _longest(trace, _outermost_work(trace).get(track), start, end)
            inside = _longest(
                trace, _nested_calls(trace).get(track), start, end, count=1, least=LEAST_OF_GAP
            )
            text = f"{text}, in {inside}" if text and inside else text
            text = text or _frame_around(trace, track, (start + end) // 2)
        texts.append(text)
    return texts


@per_trace
def launching_tracks(trace: Trace) -> dict[int, int]:
    """Per device (-1: not numbered) the track of the thread that launches most of its work."""
    work = trace.device_work.drop_nulls("launch")
    device = indices(work["device"])
    track = trace.slices["track"].to_numpy()[indices(work["launch"])]
    return {
        number: int(np.bincount(track[device == number]).argmax())
        for number in distinct_values(device).tolist()
    }


class _ThreadSlices(Struct, frozen=True, eq=False):
    """Slices of one thread, by start.

    Attributes:
        id: Their ids.
        start_ns, end_ns: When they ran.
        reach_ns: Running maximum of the ends.
    """

    id: Int64
    start_ns: Int64
    end_ns: Int64
    reach_ns: Int64


@per_trace
def _outermost_work(trace: Trace) -> dict[int, _ThreadSlices]:
    """Per thread operators, calls and loading that are not inside another."""
    works = np.isin(trace.slices["category"].to_numpy(), _WORK)
    return _by_track(trace, np.flatnonzero(works & ~_is_inside(trace, works)))


@per_trace
def _nested_calls(trace: Trace) -> dict[int, _ThreadSlices]:
    """Per thread calls of the device API that operators or loading make, not inside another."""
    category = trace.slices["category"].to_numpy()
    calls = category == Category.RUNTIME
    nested = _is_inside(trace, np.isin(category, _WORK)) & ~_is_inside(trace, calls)
    return _by_track(trace, np.flatnonzero(calls & nested))


def _is_inside(trace: Trace, chosen: Bools) -> Bools:
    """Whether the parent of a slice is among the chosen ones."""
    parents = gather(chosen.astype(np.int64), indices(trace.slices["parent"]))
    return np.asarray(parents == 1)


@per_trace
def _frames(trace: Trace) -> dict[int, _ThreadSlices]:
    """Per thread Python functions, modules and ranges."""
    return _by_track(trace, np.flatnonzero(np.isin(trace.slices["category"].to_numpy(), _FRAMES)))


def _by_track(trace: Trace, ids: Int64) -> dict[int, _ThreadSlices]:
    if not len(ids):
        return {}
    slices = trace.slices.select("track", "start_ns", "dur_ns")[ids]
    start = slices["start_ns"].to_numpy()
    end = start + slices["dur_ns"].to_numpy()
    track = slices["track"].to_numpy()
    edges = np.append(np.flatnonzero(np.append(True, np.diff(track) != 0)), len(track)).tolist()
    return {
        int(track[a]): _ThreadSlices(
            ids[a:b], start[a:b], end[a:b], np.maximum.accumulate(end[a:b])
        )
        for a, b in itertools.pairwise(edges)
    }


def _longest(
    trace: Trace,
    rows: _ThreadSlices | None,
    start_ns: int,
    end_ns: int,
    *,
    count: int = NAMES,
    least: float = 0.0,
) -> str | None:
    """The names that took most of a stretch with their share of it, if it is ``least`` or more."""
    if rows is None:
        return None
    first = int(np.searchsorted(rows.reach_ns, start_ns, "right"))
    near = slice(first, int(np.searchsorted(rows.start_ns, end_ns)))
    spent = np.minimum(rows.end_ns[near], end_ns) - np.maximum(rows.start_ns[near], start_ns)
    inside = spent > 0
    if not inside.any():
        return None
    ids = rows.id[near][inside]
    names, number = factorize(trace.slices["name_code"].to_numpy()[ids])
    sums = np.bincount(number, spent[inside])
    longest = np.argsort(-sums, kind="stable")[:count]
    if sums[longest[0]] < least * (end_ns - start_ns):
        return None
    shares_pct = 100 * sums / (end_ns - start_ns)
    shown = [row for row in longest.tolist() if row == longest[0] or shares_pct[row] >= LEAST_PCT]
    return ", ".join(f"{trace.text(int(names[row]))} {shares_pct[row]:.0f} %" for row in shown)


def _frame_around(trace: Trace, track: int, moment_ns: int) -> str | None:
    """The innermost function or range around a moment: the last that started before it, or one
    around that."""
    rows = _frames(trace).get(track)
    if rows is None:
        return None
    last = int(np.searchsorted(rows.start_ns, moment_ns, "right")) - 1
    if last < 0 or rows.reach_ns[last] <= moment_ns:
        return None
    slice_id: int | None = int(rows.id[last])
    slices = trace.slices
    while slice_id is not None:
        if slices["start_ns"][slice_id] + slices["dur_ns"][slice_id] > moment_ns:
            return trace.text(slices["name_code"][slice_id])
        slice_id = slices["parent"][slice_id]
    return None
