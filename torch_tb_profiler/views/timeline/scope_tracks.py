"""Scopes of operators as a track per device, a lane per level."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.index import NO_SLICE, Lanes
from torch_tb_profiler.views.timeline.scopes import ScopeRuns, scopes
from torch_tb_profiler.views.timeline.tracks import (
    GROUP_OF_LEVELS,
    TimelineTrack,
    device_titles,
)


def scope_tracks(trace: Trace) -> list[TimelineTrack]:
    """A track for each device that ran operators with scopes."""
    titles = device_titles(trace)
    return [
        TimelineTrack(
            f"{GROUP_OF_LEVELS.key}.scopes.d{device}",
            "Scopes",
            subtitle=f"on {titles.get(device, f'GPU {device}')}",
            help="One lane per level of the operators' full names, outermost first. A run spans "
            "from the start of its first operator to the end of its last one.",
            kind="levels",
            group=GROUP_OF_LEVELS.key,
            lanes=len(levels),
            slices=sum(len(level.name) for level in levels),
            device=device,
        )
        for device, levels in scopes(trace).runs.items()
    ]


def scope_lanes(trace: Trace, first_number: int) -> list[Lanes]:
    """The lanes of :func:`scope_tracks`.

    Args:
        trace: The trace.
        first_number: The number of the first of these tracks.
    """
    return [
        _lane(trace, level, first_number + position, row)
        for position, levels in enumerate(scopes(trace).runs.values())
        for row, level in enumerate(levels)
    ]


def _lane(trace: Trace, runs: ScopeRuns, track: int, row: int) -> Lanes:
    """The runs; where one begins before the end of an earlier one (operators of two streams), it
    is drawn from there, so that the parts of a lane are disjoint."""
    reach: Int64 = np.maximum.accumulate(runs.end_ns)
    start = np.maximum(runs.start_ns, np.append(runs.start_ns[:1], reach[:-1]))
    count = len(start)
    return Lanes(
        track=np.array([track], np.int32),
        row=np.array([row], np.int32),
        first=np.array([0, count], np.int64),
        start_ns=start - trace.meta.start_ns,
        busy_ns=np.append(0, np.cumsum(np.maximum(reach - start, 0))),
        slice=np.full(count, NO_SLICE, np.int32),
        category=np.full(count, categories.SCOPE, np.int8),
        name=len(trace.strings) + runs.name,
    )
