"""The band of a rank: one lane that says when it computed and when it communicated.

It needs no slices, so the summary of a rank has it too: bands of a thousand ranks are drawn one
below the other without opening a trace. Kinds of time and colours are those of merged tracks; idle
time is left free.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, subtract
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.index import NO_SLICE, Lanes, Timeline
from torch_tb_profiler.views.timeline.merged import LANE_TITLES
from torch_tb_profiler.views.timeline.tracks import TimelineTrack

BAND = "band"
"""Key of the track."""


@per_trace
def band(trace: Trace) -> Timeline:
    """The timeline of a trace, or of a summary, with its band alone; cached per trace."""
    computing, communicating = computation(trace), records(trace).intervals()
    parts = {
        "Computation": subtract(computing, communicating),
        "Overlap": intersect(computing, communicating),
        "Exposed": subtract(communicating, computing),
    }
    lanes = _lane(parts, trace.meta.start_ns)
    track = TimelineTrack(
        BAND,
        "Computation and communication",
        kind="merged",
        group=BAND,
        help="When the rank computed, communicated, and did both.",
        lanes=1,
        slices=len(lanes.slice),
    )
    return Timeline(trace, [], [track], lanes, {}, {}, 0)


def _lane(parts: dict[str, Intervals], origin_ns: int) -> Lanes:
    """Disjoint parts, by the title that they have in merged tracks, as one lane."""
    start = np.concatenate([each.start_ns for each in parts.values()])
    end = np.concatenate([each.end_ns for each in parts.values()])
    code: Int64 = np.repeat(
        [categories.COMPUTATION + LANE_TITLES.index(title) for title in parts],
        [len(each.start_ns) for each in parts.values()],
    )
    order = np.argsort(start, kind="stable")
    return Lanes(
        track=np.zeros(1, np.int32),
        row=np.zeros(1, np.int32),
        first=np.array([0, len(order)], np.int64),
        start_ns=start[order] - origin_ns,
        busy_ns=np.append(0, np.cumsum(end[order] - start[order])),
        slice=np.full(len(order), NO_SLICE, np.int32),
        category=code[order].astype(np.int8),
    )
