"""Every moment in which no device works, given to one cause.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.after_waits import AfterWaits, after_waits
from torch_tb_profiler.analysis.idle.drained import drained
from torch_tb_profiler.analysis.idle.gaps import Gaps, busy, gaps
from torch_tb_profiler.analysis.idle.host_threads import (
    PIECE_NS,
    HostThread,
    host_threads,
    together,
)
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.knowledge.host_calls import is_of_the_profiler
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Cause(IntEnum):
    """Why no device works."""

    DEVICE = 0
    """The next work was launched already."""
    PROFILER = 1
    """The profiler's own overhead."""
    BLOCKED = 2
    """The host is in a call that waits, though no device works."""
    AFTER_WAIT = 3
    """The host launches again after it had waited for the device."""
    LOADING = 4
    """The host waits for the next batch, or loads it."""
    LONG_CALL = 5
    """The host is in one long runtime call."""
    HOST = 6
    """The host runs operators and launches."""
    PYTHON = 7
    """The host runs Python code without operators."""
    UNRECORDED = 8
    """The recording does not tell what the host does."""


CAUSE_TITLES = {
    Cause.DEVICE: "between launched work",
    Cause.PROFILER: "the profiler",
    Cause.BLOCKED: "blocked calls",
    Cause.AFTER_WAIT: "after waits",
    Cause.LOADING: "data loading",
    Cause.LONG_CALL: "long runtime calls",
    Cause.HOST: "operators and launches",
    Cause.PYTHON: "Python code",
    Cause.UNRECORDED: "not recorded",
}
"""The causes as people read them, inside a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class IdleCauses:
    """The idle time of a trace.

    Attributes:
        intervals: Per :class:`Cause` when it holds; disjoint, together all gaps.
        after: The stretches of ``Cause.AFTER_WAIT`` by wait.
        waits: The table of waits (:func:`torch_tb_profiler.analysis.idle.waits.waits`).
    """

    intervals: tuple[Intervals, ...]
    after: AfterWaits
    waits: pl.DataFrame


@per_trace
def idle_causes(trace: Trace) -> IdleCauses:
    """The causes of all idle time of a trace; all empty where it has no device work."""
    if not len(busy(trace).start_ns):
        none = np.empty(0, np.int64)
        nothing = AfterWaits(none, none, none)
        return IdleCauses((empty(),) * len(Cause), nothing, waits(trace))
    return causes_of(trace, gaps(trace), host_threads(trace))


def causes_of(trace: Trace, idle: Gaps, threads: dict[int, HostThread]) -> IdleCauses:
    """The causes of some gaps.

    Args:
        trace: The recording; it has device work.
        idle: The gaps.
        threads: The threads that may feed what stands idle, by track.
    """
    waiting, late = waits(trace), idle.host_late
    parts = {Cause.DEVICE: subtract(Intervals(idle.start_ns, idle.end_ns), late)}
    parts[Cause.PROFILER] = intersect(late, _overhead(trace))
    rest = subtract(late, parts[Cause.PROFILER])
    of_thread = [
        _given(intersect(_gaps_of(idle, mine), rest), threads[track])
        for track, mine in _gaps_by_thread(trace, idle).items()
    ]
    told = union_all(empty(), *(part for given in of_thread for part in given.values()))
    others = together(list(threads.values()))
    of_thread.append(_given(subtract(rest, told), others))
    for cause in (Cause.BLOCKED, Cause.LOADING, Cause.LONG_CALL, Cause.HOST):
        parts[cause] = union_all(empty(), *(given[cause] for given in of_thread))
    rest = subtract(rest, union_all(*(parts[cause] for cause in of_thread[-1])))
    python = intersect(rest, others.frames)
    pieces = (python, subtract(rest, python))
    launching = _gaps_of(idle, idle.launch >= 0)
    short = [intersect(_short(piece), launching) for piece in pieces]
    parts[Cause.PYTHON], parts[Cause.UNRECORDED] = map(subtract, pieces, short)
    host = union_all(parts[Cause.HOST], *short)
    after = after_waits(idle, drained(trace, waiting, idle), host, parts[Cause.BLOCKED])
    parts[Cause.AFTER_WAIT] = union(after.start_ns, after.end_ns)
    parts[Cause.HOST] = subtract(host, parts[Cause.AFTER_WAIT])
    parts[Cause.BLOCKED] = subtract(parts[Cause.BLOCKED], parts[Cause.AFTER_WAIT])
    return IdleCauses(tuple(parts[cause] for cause in Cause), after, waiting)


def _given(time: Intervals, thread: HostThread) -> dict[Cause, Intervals]:
    """What of some time a thread spent on what, the first that holds."""
    given = {}
    for cause, intervals in (
        (Cause.BLOCKED, thread.waits),
        (Cause.LOADING, thread.loading),
        (Cause.LONG_CALL, thread.long_calls),
        (Cause.HOST, thread.operators),
    ):
        given[cause] = intersect(time, intervals)
        time = subtract(time, given[cause])
    return given


def _gaps_by_thread(trace: Trace, idle: Gaps) -> dict[int, Int64]:
    """Per track whose calls end gaps the numbers of these gaps, in order."""
    track = gather(indices(trace.slices["track"]), idle.launch)
    order = np.argsort(track, kind="stable")
    order = order[track[order] >= 0]
    tracks, first = np.unique(track[order], return_index=True)
    return dict(zip(tracks.tolist(), np.split(order, first)[1:], strict=True))


def _gaps_of(idle: Gaps, chosen: Bools | Int64) -> Intervals:
    """Some of the gaps."""
    return Intervals(idle.start_ns[chosen], idle.end_ns[chosen])


def _overhead(trace: Trace) -> Intervals:
    slices = trace.slices.filter(pl.col("category") == Category.OVERHEAD)
    names = slices["name_code"].to_numpy()
    slices = slices.filter(pl.Series(codes.of_names(trace, names, is_of_the_profiler, np.bool_)))
    start = slices["start_ns"].to_numpy()
    return union(start, start + slices["dur_ns"].to_numpy())


def _short(intervals: Intervals) -> Intervals:
    """Those that are pieces between two records."""
    short = intervals.end_ns - intervals.start_ns < PIECE_NS
    return Intervals(intervals.start_ns[short], intervals.end_ns[short])
