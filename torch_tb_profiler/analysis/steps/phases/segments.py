"""When each host thread, and each process, was in which phase.

Definitions: ``docs/views-phases.md#how-phases-are-found``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.steps.phases.evidence import Phase, marks
from torch_tb_profiler.analysis.steps.phases.hooks import hooked_passes
from torch_tb_profiler.knowledge.communication import backend
from torch_tb_profiler.knowledge.phases import phases_file
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_STRENGTH = (Phase.BACKWARD, Phase.OPTIMIZER, Phase.FORWARD, Phase.DATALOADER)
"""Of threads of one process that are in different phases at once the first of these counts: a
thread that loads ahead, or waits for the backward thread, says less."""


class Stretches(NamedTuple):
    """Stretches of time in one phase each: aligned, in time order, disjoint, none empty."""

    start_ns: Int64
    end_ns: Int64
    phase: Int8


def phase_at(stretches: Stretches, time_ns: Int64, otherwise: int) -> Int8:
    """The phase at each moment, ``otherwise`` outside all stretches."""
    if not len(stretches.start_ns):
        return np.full(len(time_ns), otherwise, np.int8)
    row = np.searchsorted(stretches.start_ns, time_ns, side="right") - 1
    inside = (row >= 0) & (time_ns < stretches.end_ns[row])
    phase: Int8 = np.where(inside, stretches.phase[row], otherwise).astype(np.int8)
    return phase


@per_trace
def thread_stretches(trace: Trace) -> dict[int, Stretches]:
    """Per host track with any: what its innermost mark, or pass between two hooks, tells of each
    moment; made once."""
    markers, hooked = marks(trace), hooked_passes(trace)
    start = trace.slices["start_ns"].to_numpy()[markers.slice]
    end = start + trace.slices["dur_ns"].to_numpy()[markers.slice]
    tracks = np.concatenate((trace.slices["track"].to_numpy()[markers.slice], hooked.track))
    start, end = np.append(start, hooked.start_ns), np.append(end, hooked.end_ns)
    order = np.lexsort((-end, start, tracks))
    tracks, start, end = tracks[order], start[order], end[order]
    phase = np.append(markers.phase, hooked.phase)[order]
    threads = {}
    for track in distinct_values(tracks).tolist():
        rows = slice(*np.searchsorted(tracks, (track, track + 1)).tolist())
        threads[track] = _of_thread(start[rows], end[rows], phase[rows])
    return threads


def _of_thread(start_ns: Int64, end_ns: Int64, phase: Int8) -> Stretches:
    """Innermost marks of one thread; those in order of start, longer first."""
    is_whole = ~_is_part(start_ns, end_ns, phase)
    start_ns, end_ns, phase = start_ns[is_whole], end_ns[is_whole], phase[is_whole]
    edges = distinct_values(np.concatenate((start_ns, end_ns)))
    innermost = last_above(end_ns, np.searchsorted(start_ns, edges, "right"), edges)
    inside = np.flatnonzero(innermost >= 0)
    return joined(edges[inside], edges[inside + 1], phase[innermost[inside]])


def _is_part(start_ns: Int64, end_ns: Int64, phase: Int8) -> Bools:
    """Forward marks inside a backward pass (what is computed again there) or inside the loader."""
    forward = phase == Phase.FORWARD
    others = np.flatnonzero(~forward)
    if not len(others):
        return np.zeros(len(phase), np.bool_)
    preceding = np.searchsorted(others, np.flatnonzero(forward))
    around = last_above(end_ns[others], preceding, start_ns[forward])
    inside = np.where(around >= 0, phase[others[around]], Phase.FORWARD)
    is_part = np.zeros(len(phase), np.bool_)
    is_part[forward] = (inside == Phase.BACKWARD) | (inside == Phase.DATALOADER)
    return is_part


def joined(start_ns: Int64, end_ns: Int64, phase: Int8) -> Stretches:
    """Stretches in time order, those that touch and are of one phase as one."""
    if not len(start_ns):
        return Stretches(start_ns, end_ns, phase.astype(np.int8))
    opens = np.append(True, (start_ns[1:] != end_ns[:-1]) | (phase[1:] != phase[:-1]))
    closes = np.append(opens[1:], True)
    return Stretches(start_ns[opens], end_ns[closes], phase[opens].astype(np.int8))


@per_trace
def process_stretches(trace: Trace) -> dict[int, Stretches]:
    """Per process with any (-1: all together) the phase of its moments; made once."""
    processes = indices(trace.tracks["process"])
    threads = thread_stretches(trace)
    of_process: dict[int, list[Stretches]] = {}
    for track, stretches in threads.items():
        of_process.setdefault(int(processes[track]), []).append(stretches)
    filled = {
        process: _filled(trace, process, _merged(parts)) for process, parts in of_process.items()
    }
    known = list(filled.values())
    if known:
        filled[-1] = known[0] if len(known) == 1 else _merged(known)
    return filled


def _merged(parts: list[Stretches]) -> Stretches:
    """Several at once, by strength."""
    taken = empty()
    by_phase: list[tuple[Phase, Intervals]] = []
    for phase in _STRENGTH:
        of_phase = union_all(empty(), *(Intervals(*_of_phase(part, phase)) for part in parts))
        by_phase.append((phase, subtract(of_phase, taken)))
        taken = union_all(taken, of_phase)
    return in_time_order(by_phase)


def _of_phase(stretches: Stretches, phase: Phase) -> tuple[Int64, Int64]:
    rows = stretches.phase == phase
    return stretches.start_ns[rows], stretches.end_ns[rows]


def intervals_of(stretches: Stretches, phase: Phase) -> Intervals:
    """When it was that phase."""
    return union(*_of_phase(stretches, phase))


def in_time_order(by_phase: list[tuple[Phase, Intervals]]) -> Stretches:
    """Disjoint intervals of phases as stretches."""
    start, end = (np.concatenate([intervals[side] for _, intervals in by_phase]) for side in (0, 1))
    phase = np.concatenate(
        [np.full(len(intervals.start_ns), phase, np.int8) for phase, intervals in by_phase]
    )
    order = np.argsort(start, kind="stable")
    return joined(start[order], end[order], phase[order])


def _filled(trace: Trace, process: int, stretches: Stretches) -> Stretches:
    """The same with what lies between: between nodes of one backward pass the pass, and between
    the first forward operator and the beginning of the backward pass the forward pass."""
    count = len(stretches.start_ns)
    if not count:
        return stretches
    whole = marks(trace).whole
    # The first gap is what lies before everything.
    begin = min(int(stretches.start_ns[0]), trace.meta.start_ns)
    gap_start, gap_end = np.append(begin, stretches.end_ns[:-1]), stretches.start_ns
    before, after = np.append(np.int8(-1), stretches.phase[:-1]), stretches.phase
    edges = _step_edges(trace, process)
    free = (gap_end > gap_start) & ~_any_within(edges, gap_start, gap_end)
    seeded = (before != Phase.BACKWARD) & (after == Phase.BACKWARD)
    seeded &= Phase.BACKWARD not in whole
    seeds = _operator_starts(trace, process, seeds_only=True)
    begins = np.where(seeded, _last_within(seeds, gap_start, gap_end), gap_end)
    backward = free & (before == Phase.BACKWARD) & (after == Phase.BACKWARD)
    backward &= Phase.BACKWARD not in whole
    forward = free & (before == Phase.FORWARD) & (Phase.FORWARD not in whole)
    forward &= (after == Phase.FORWARD) | (after == Phase.BACKWARD)
    forward &= _leads_to_backward(stretches, gap_start, edges)
    forward_start = gap_start.copy()
    if not np.any(stretches.phase == Phase.FORWARD):
        forward = seeded & (gap_end > gap_start)
        earliest = np.maximum(gap_start, _last_within(edges, gap_start, gap_end, gap_start))
        operators = _operator_starts(trace, process, seeds_only=False)
        forward_start = _next_of(operators, earliest, begins)
    # A range of the user that begins after the last forward operator is something else.
    foreign = _foreign_starts(trace, process)
    forward_end = np.where(after == Phase.BACKWARD, _next_of(foreign, gap_start, begins), begins)
    starts = (stretches.start_ns, gap_start[backward], forward_start[forward], begins)
    ends = (stretches.end_ns, gap_end[backward], forward_end[forward], gap_end)
    phases = (
        stretches.phase,
        np.full(int(backward.sum()), Phase.BACKWARD, np.int8),
        np.full(int(forward.sum()), Phase.FORWARD, np.int8),
        np.full(count, Phase.BACKWARD, np.int8),
    )
    start, end, phase = (np.concatenate(part) for part in (starts, ends, phases))
    is_positive = end > start
    order = np.argsort(start[is_positive], kind="stable")
    return joined(start[is_positive][order], end[is_positive][order], phase[is_positive][order])


def _leads_to_backward(stretches: Stretches, gap_start_ns: Int64, edges_ns: Int64) -> Bools:
    """Whether after each gap (the one before each stretch) a backward pass is next, in the same
    recorded step, but for forward stretches and gradients set to zero."""
    count = len(stretches.phase)
    neutral = (stretches.phase == Phase.FORWARD) | (stretches.phase == Phase.OPTIMIZER)
    rows = np.where(neutral, count, np.arange(count))
    following = np.minimum.accumulate(rows[::-1])[::-1]
    leads: Bools = np.append(stretches.phase, np.int8(-1))[following] == Phase.BACKWARD
    until = np.append(stretches.start_ns, stretches.end_ns[-1:])[following]
    leads &= ~_any_within(edges_ns, gap_start_ns, until)
    return leads


def _step_edges(trace: Trace, process: int) -> Int64:
    """When recorded steps of a process begin and end, in order: no phase goes on over that."""
    slices = trace.slices
    steps = np.flatnonzero(slices["category"].to_numpy() == Category.STEP)
    processes = indices(trace.tracks["process"])[slices["track"].to_numpy()[steps]]
    steps = steps[processes == process]
    start = slices["start_ns"].to_numpy()[steps]
    return np.sort(np.concatenate((start, start + slices["dur_ns"].to_numpy()[steps])))


def _any_within(times_ns: Int64, start_ns: Int64, end_ns: Int64) -> Bools:
    """Whether any of the sorted times lies in each gap, both ends included."""
    within: Bools = np.searchsorted(times_ns, end_ns, "right") > np.searchsorted(times_ns, start_ns)
    return within


def _last_within(
    times_ns: Int64, start_ns: Int64, end_ns: Int64, otherwise: Int64 | None = None
) -> Int64:
    """The last of the sorted times in each gap, else ``otherwise`` (its end where left out)."""
    otherwise = end_ns if otherwise is None else otherwise
    if not len(times_ns):
        return otherwise
    last = np.searchsorted(times_ns, end_ns) - 1
    inside = (last >= 0) & (times_ns[last] >= start_ns)
    return np.where(inside, times_ns[last], otherwise)


def _next_of(times_ns: Int64, start_ns: Int64, end_ns: Int64) -> Int64:
    """The first of the sorted times from each start on, the end where none comes before that."""
    times = np.append(times_ns, np.iinfo(np.int64).max)
    following: Int64 = np.minimum(times[np.searchsorted(times_ns, start_ns)], end_ns)
    return following


def _foreign_starts(trace: Trace, process: int) -> Int64:
    """When ranges of the user begin that name no phase and no collective, in order."""
    slices = trace.slices
    is_range = slices["category"].to_numpy() == Category.ANNOTATION
    is_range[marks(trace).slice] = False
    rows = np.flatnonzero(is_range)
    names = slices["name_code"].to_numpy()[rows]
    rows = rows[codes.map_names(trace, names, lambda name: backend(name) is None, np.bool_)]
    processes = indices(trace.tracks["process"])[slices["track"].to_numpy()[rows]]
    return np.sort(slices["start_ns"].to_numpy()[rows[processes == process]])


def _operator_starts(trace: Trace, process: int, *, seeds_only: bool) -> Int64:
    """When operators of a process begin, in order: all, or those that seed a backward pass."""
    slices = trace.slices
    rows = np.flatnonzero(slices["category"].to_numpy() == Category.OPERATOR)
    if seeds_only:
        seeds = phases_file().seeds.operators
        names = slices["name_code"].to_numpy()[rows]
        rows = rows[codes.map_names(trace, names, lambda name: name in seeds, np.bool_)]
    processes = indices(trace.tracks["process"])[slices["track"].to_numpy()[rows]]
    return np.sort(slices["start_ns"].to_numpy()[rows[processes == process]])
