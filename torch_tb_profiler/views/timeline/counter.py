"""A counter of the timeline."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.views.timeline.curves import Curve
from torch_tb_profiler.views.timeline.tracks import Group, TimelineTrack


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A track and the course of its value, times from the origin."""

    track: TimelineTrack
    group: Group
    curve: Curve
