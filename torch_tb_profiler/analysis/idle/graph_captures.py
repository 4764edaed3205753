"""When the host captures a graph of device work: what it launches then runs later, with the graph.

Definition: ``docs/metrics.md#idle-devices``. A capture lasts from the call that begins it to the
next call of the same thread that ends one (CUDA Runtime API, *Stream Management*); the graph is
instantiated, once, after it.
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_RUNTIMES = "(cuda|cu|hip|musa|mu)"
_BEGIN = re.compile(rf"{_RUNTIMES}StreamBeginCapture\w*")
_END = re.compile(rf"{_RUNTIMES}StreamEndCapture\w*")
_INSTANTIATE = re.compile(rf"{_RUNTIMES}GraphInstantiate\w*")


@per_trace
def graph_captures(trace: Trace) -> dict[int, Intervals]:
    """Per track of a thread when it captures or instantiates graphs; a capture whose end is not
    recorded has no length."""
    begins, ends = _calls(trace, _BEGIN), _calls(trace, _END)
    # Slices are in order of track and time, so the end of a capture is the next one by id.
    after = np.append(ends, -1)[np.searchsorted(ends, begins)]
    track = trace.slices["track"].to_numpy()
    paired = (after >= 0) & (track[begins] == track[after])
    single = _calls(trace, _INSTANTIATE)
    start_ns = trace.slices["start_ns"].to_numpy()
    end_ns = start_ns + trace.slices["dur_ns"].to_numpy()
    first = np.append(begins[paired], single)
    last = np.append(after[paired], single)
    return {
        int(number): union(start_ns[first[of_track]], end_ns[last[of_track]])
        for number in distinct_values(track[first])
        for of_track in [track[first] == number]
    }


def _calls(trace: Trace, pattern: re.Pattern[str]) -> Int64:
    rows = np.flatnonzero(trace.slices["category"].to_numpy() == Category.RUNTIME)
    names = trace.slices["name_code"].to_numpy()[rows]
    return rows[codes.names_match(trace, names, lambda name: pattern.fullmatch(name) is not None)]
