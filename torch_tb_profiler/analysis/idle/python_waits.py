"""When a thread waits in Python: sleeps, polls, waits for a lock, a queue or a socket.

Definitions: ``docs/views-idle.md#causes``.
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.gaps import Gaps
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_WAITS = re.compile(
    r"<built-in (method|function) (acquire|poll|epoll_wait|select|sleep|wait|recv|recv_into|accept)"
    r"( of .*)?>|(.*[\\/])?zmq[\\/]\S*: (recv|recv_multipart|poll)"
)
"""Functions of C and of ZeroMQ that return when somebody else has done something."""


def python_waits(trace: Trace, idle: Gaps) -> Intervals:
    """The part of gaps that the threads which end them spent in such functions."""
    by_track = _waits_by_track(trace)
    if not by_track:
        return empty()
    launched = np.flatnonzero(idle.launch >= 0)
    launching_track = trace.slices["track"].to_numpy()[idle.launch[launched]]
    parts = []
    for track, waiting in by_track.items():
        rows = launched[launching_track == track]
        parts.append(intersect(waiting, Intervals(idle.start_ns[rows], idle.end_ns[rows])))
    return union_all(*parts)


@per_trace
def _waits_by_track(trace: Trace) -> dict[int, Intervals]:
    """Per thread when it was in such a function."""
    frames = np.flatnonzero(trace.slices["category"].to_numpy() == Category.PYTHON_FUNCTION)
    names = trace.slices["name_code"].to_numpy()[frames]
    rows = frames[codes.names_match(trace, names, lambda name: _WAITS.fullmatch(name) is not None)]
    track, start = trace.slices["track"].to_numpy()[rows], trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    return {
        number: union(start[track == number], end[track == number])
        for number in distinct_values(track).tolist()
    }
