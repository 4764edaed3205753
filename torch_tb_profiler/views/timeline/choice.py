"""Which lanes a screen asks for: ``steps,t3.operators,t3.python:0-7``."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.views.timeline.index import Timeline

_PART = re.compile(r"([a-z0-9.]{1,40})(?::([0-9]{1,9})(?:-([0-9]{1,9}))?)?")


class ChoiceError(ValueError):
    """A list of tracks that is malformed or names an unknown track."""


class Choice(Struct, frozen=True, eq=False):
    """Numbers of lanes, ordered by track and row, and of counter tracks, ascending."""

    lanes: Int64
    counters: list[int]


def choose(timeline: Timeline, text: str | None) -> Choice:
    """The lanes of the tracks that ``text`` lists; without text all, folded tracks by lane 0.

    Raises:
        ChoiceError: a part of the text is malformed or names no track of the timeline.
    """
    numbers = {track.key: number for number, track in enumerate(timeline.tracks)}
    first = np.full(len(numbers), np.iinfo(np.int32).max)
    last = np.full(len(numbers), -1)
    if text is None:
        first[:] = 0
        last[:] = [0 if track.collapsed else track.lanes - 1 for track in timeline.tracks]
    else:
        for part in text.split(","):
            match = _PART.fullmatch(part)
            if match is None:
                raise ChoiceError(
                    f"tracks: {part[:40]!r} is not of the form track, track:lane or track:from-to"
                )
            number = numbers.get(match[1])
            if number is None:
                raise ChoiceError(f"tracks: unknown track {match[1]!r}")
            low = int(match[2] or 0)
            high = int(match[3] or match[2] or timeline.tracks[number].lanes)
            # Of one track only one stretch of lanes: what lies between two is cheap to send.
            first[number] = min(first[number], low)
            last[number] = max(last[number], high)
    lanes = timeline.lanes
    chosen = np.flatnonzero((lanes.row >= first[lanes.track]) & (lanes.row <= last[lanes.track]))
    chosen = chosen[np.lexsort((lanes.row[chosen], lanes.track[chosen]))]
    return Choice(chosen, [number for number in timeline.counters if last[number] >= 0])
