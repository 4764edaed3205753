"""The critical path on the timeline. Definitions: ``docs/views-critical-path.md``."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.idle.critical_path.path import critical_path
from torch_tb_profiler.analysis.idle.critical_path.selected_steps import select_steps
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.placed_slices import PlacedSlice, placed

MAX_PIECES = 2_000
"""Pieces that are drawn of a range, the longest."""


class PathOnTimeline(Struct, frozen=True):
    """The pieces of a path in a range.

    Attributes:
        steps: Names of the steps that the path is of.
        start_ns, end_ns: From the start of the first of them to the end of the last, from the
            origin; 0 where there is none.
        pieces: Slices with the part of their time that is on the path, in order of time.
        count: How many there are in the range.
    """

    steps: list[str]
    start_ns: int
    end_ns: int
    pieces: list[PlacedSlice]
    count: int


def path_on_timeline(
    cut: Trace, shown: Timeline, selection: Selection, start_ns: int, end_ns: int
) -> PathOnTimeline:
    """The path of the selected steps, or of the one of median length, in a range.

    Args:
        cut: The recording, cut into the steps of the selection.
        shown: Its timeline.
        selection: Which steps.
        start_ns, end_ns: The range, from the origin.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    names, steps, _ = select_steps(cut, selection)
    origin = shown.origin_ns
    ids, starts, ends = ([np.empty(0, np.int64)] for _ in range(3))
    for step in steps:
        path = critical_path(cut, step)
        pieces = path.pieces
        slices = np.append(path.step_graph.slice, -1)[pieces.node]
        seen = (pieces.is_between == 0) & (slices >= 0)
        seen &= (pieces.start_ns - origin < end_ns) & (pieces.end_ns - origin > start_ns)
        ids.append(slices[seen])
        starts.append(pieces.start_ns[seen] - origin)
        ends.append(pieces.end_ns[seen] - origin)
    slice_, start, end = (np.concatenate(each) for each in (ids, starts, ends))
    longest = np.sort(np.argsort(start - end, kind="stable")[:MAX_PIECES])
    whole = placed(shown, slice_[longest])
    return PathOnTimeline(
        names,
        min((step.start_ns - origin for step in steps), default=0),
        max((step.end_ns - origin for step in steps), default=0),
        [
            replace(each, start_ns=begin, dur_ns=until - begin)
            for each, begin, until in zip(
                whole, start[longest].tolist(), end[longest].tolist(), strict=True
            )
        ],
        len(slice_),
    )
