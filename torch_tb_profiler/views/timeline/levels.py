"""Modules and user ranges as tracks of their own, a lane per level: the calls on each host thread,
and on each GPU the time from the first start to the last end of what a call launched; and scopes
of operators.

Definitions: ``docs/views-timeline.md#groups-as-tracks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, levels
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, climb
from torch_tb_profiler.analysis.operators.hierarchies.timed import timed_modules, timed_ranges
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.index import Lanes, Timeline, joined_lanes, timeline
from torch_tb_profiler.views.timeline.scope_tracks import scope_lanes, scope_tracks
from torch_tb_profiler.views.timeline.tracks import GROUP_OF_LEVELS, TimelineTrack

LEVELLED = ("modules", "ranges", "scopes")
"""What has levels."""

MAX_LEVELS = 8
"""Levels that can be shown."""


class _Calls(Struct, frozen=True, eq=False):
    """Calls of groups on one host thread or one GPU, by level and start; times of the trace.

    Attributes:
        call: Which call of the hierarchy each is.
        level: Its level, from 0.
        start_ns: Its start.
        end_ns: Its end.
    """

    call: Int64
    level: Int64
    start_ns: Int64
    end_ns: Int64


class _Row(Struct, frozen=True, eq=False):
    """A track to be."""

    track: TimelineTrack
    hierarchy: Hierarchy
    calls: _Calls


def with_levels(trace: Trace, depths: Mapping[str, int]) -> Timeline:
    """The timeline of ``trace`` with tracks of levels behind its own.

    Args:
        trace: The trace.
        depths: How many levels to show of each of :data:`LEVELLED`. A track of which none is shown
            is there without lanes: numbers of tracks do not depend on what is shown.
    """
    whole = levelled_timeline(trace)
    tracks = [
        track
        if track.kind != "levels"
        else replace(track, lanes=min(track.lanes, depths.get(track.key.split(".")[1], 0)))
        for track in whole.tracks
    ]
    return replace(whole, tracks=tracks)


@per_trace
def levelled_timeline(trace: Trace) -> Timeline:
    """The timeline with tracks of all levels; cached per trace on the first request for levels."""
    shown = timeline(trace)
    of_scopes = scope_tracks(trace)
    rows = _rows(trace, "modules", "Modules", timed_modules(trace).hierarchy)
    for number, (domain, timed) in enumerate(timed_ranges(trace).items()):
        rows += _rows(trace, f"ranges.{number}", f"Ranges ({domain})", timed.hierarchy)
    if not rows and not of_scopes:
        return shown
    first = len(shown.tracks)
    parts = [
        part
        for number, row in enumerate(rows)
        for part in _lanes(row, first + number, trace.meta.start_ns)
    ]
    parts += scope_lanes(trace, first + len(rows))
    groups = list(shown.groups)
    groups.insert(1 if groups and groups[0].kind == "trace" else 0, GROUP_OF_LEVELS)
    return replace(
        shown,
        groups=groups,
        tracks=[*shown.tracks, *(row.track for row in rows), *of_scopes],
        lanes=joined_lanes([shown.lanes, *parts]),
    )


def _rows(trace: Trace, key: str, title: str, hierarchy: Hierarchy) -> list[_Row]:
    if hierarchy.is_empty:
        return []
    slices, work = trace.slices, trace.device_work
    start = slices["start_ns"].to_numpy()[hierarchy.range_slice]
    end = start + slices["dur_ns"].to_numpy()[hierarchy.range_slice]
    thread = slices["track"].to_numpy().astype(np.int64)[hierarchy.range_slice]
    rows: list[_Row] = []
    for track, calls in _calls(hierarchy, hierarchy.range_call, thread, start, end):
        named = trace.tracks.row(by_predicate=pl.col("track") == track, named=True)
        subtitle = str(named["thread_name"] or "").strip() or f"thread {named['tid']}"
        rows.append(_Row(_track(f"{key}.t{track}", title, subtitle, calls), hierarchy, calls))
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    devices = indices(work["device"])
    for device, calls in _calls(hierarchy, hierarchy.work_call, devices, start, end):
        track_of_device = _track(f"{key}.d{device}", title, f"on GPU {device}", calls)
        rows.append(_Row(replace(track_of_device, device=device), hierarchy, calls))
    return rows


def _calls(
    hierarchy: Hierarchy, call: Int64, owner: Int64, start_ns: Int64, end_ns: Int64
) -> Iterator[tuple[int, _Calls]]:
    """What the calls of elements reach over, by thread or GPU.

    Args:
        hierarchy: The tree.
        call: Innermost call of each element, -1 for none.
        place: Thread or GPU of each, -1 for none.
        start_ns: Start of each.
        end_ns: End of each.
    """
    depth = np.zeros(hierarchy.nodes.count, np.int64)
    for level, nodes in enumerate(levels(hierarchy.nodes.parent)):
        depth[nodes] = level
    placed = climb(hierarchy, np.where(owner >= 0, call, -1))
    selected = (placed.node < hierarchy.first_outside) & (depth[placed.node] < MAX_LEVELS)
    element, node, of_call = placed.element[selected], placed.node[selected], placed.call[selected]
    example, number = dense_pair_ids(owner[element], of_call)
    first = np.full(len(example), np.iinfo(np.int64).max)
    last = np.full(len(example), np.iinfo(np.int64).min)
    np.minimum.at(first, number, start_ns[element])
    np.maximum.at(last, number, end_ns[element])
    owners, of_level, of_call = owner[element[example]], depth[node[example]], of_call[example]
    order = np.lexsort((first, of_level, owners))
    for each in distinct_values(owners).tolist():
        rows = order[owners[order] == each]
        yield each, _Calls(of_call[rows], of_level[rows], first[rows], last[rows])


def _track(key: str, title: str, subtitle: str, calls: _Calls) -> TimelineTrack:
    return TimelineTrack(
        f"levels.{key}",
        title,
        subtitle=subtitle,
        help="One lane per level, outermost first. On a GPU a call spans from the first start to "
        "the last end of the work it launched.",
        kind="levels",
        group=GROUP_OF_LEVELS.key,
        lanes=int(calls.level.max()) + 1,
        slices=len(calls.call),
    )


def _lanes(row: _Row, number: int, origin_ns: int) -> list[Lanes]:
    """The lanes of a track. Of calls of one level that overlap the later one begins where the
    earlier one ends, so that the parts of a lane are disjoint."""
    calls, hierarchy = row.calls, row.hierarchy
    # Calls of a module come twice: as it ran, and as its backward work did.
    is_backward = ~np.append(hierarchy.is_call, False)[_first_range(hierarchy)][calls.call]
    lanes: list[Lanes] = []
    for level in range(row.track.lanes):
        here = np.flatnonzero(calls.level == level)
        reach = np.maximum.accumulate(calls.end_ns[here]) if len(here) else calls.end_ns[here]
        before = np.append(calls.start_ns[here][:1], reach[:-1])[: len(here)]
        start = np.maximum(calls.start_ns[here], before)
        code = np.where(is_backward[here], categories.GROUP_BACKWARD, categories.GROUP)
        lanes.append(
            Lanes(
                track=np.array([number], np.int32),
                row=np.array([level], np.int32),
                first=np.array([0, len(here)], np.int64),
                start_ns=start - origin_ns,
                busy_ns=np.append(0, np.cumsum(np.maximum(reach - start, 0))),
                slice=hierarchy.call_slice[calls.call[here]].astype(np.int32),
                category=code.astype(np.int8),
            )
        )
    return lanes


def _first_range(hierarchy: Hierarchy) -> Int64:
    """Per call its first range, -1 where it has none."""
    first = np.full(len(hierarchy.call_node), -1, np.int64)
    first[hierarchy.range_call[::-1]] = np.arange(len(hierarchy.range_call))[::-1]
    return first
