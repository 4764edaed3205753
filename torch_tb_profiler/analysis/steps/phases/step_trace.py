"""The step trace: each step as interval, forward, backward and tail, with collectives inside.

Definitions: ``docs/views-phases.md#step-trace``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import Intervals, subtract, total_within
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import boundaries
from torch_tb_profiler.analysis.steps.phases.boundaries import are_on_device
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.times import HostSteps, PhaseCalls, PhaseWork
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

Side = Literal["device", "host"]


class StepTrace(Struct, frozen=True, eq=False):
    """Parts of steps in ns, a row per window; interval, forward, backward and tail add up to the
    step.

    Attributes:
        windows: The steps.
        side: Whose work tells where passes begin and end.
        told: Whether anything of a forward or backward pass lies in the step; without, its parts
            are not known.
        interval_ns: Before the first pass, and between a pass and the next one's beginning.
        forward_ns: From the beginning of each forward pass to the backward pass after it.
        backward_ns: Backward passes.
        tail_ns: After the last pass.
        hidden_ns: Collectives inside the passes, while the worker computed.
        exposed_ns: Collectives inside the passes, while it did not.
        tail_communication_ns: Collectives in the tail.
    """

    windows: StepWindows
    side: Side
    has_passes: Bools
    interval_ns: Int64
    forward_ns: Int64
    backward_ns: Int64
    tail_ns: Int64
    hidden_ns: Int64
    exposed_ns: Int64
    tail_communication_ns: Int64


class _Events(NamedTuple):
    """What tells of passes: window, phase (forward or backward), call, start and end of each."""

    window: Int64
    is_backward: Bools
    call: Int64
    start_ns: Int64
    end_ns: Int64


@per_trace
def exposed_communication(trace: Trace) -> tuple[Intervals, Intervals]:
    """When the worker communicated, and when it did nothing else; made once."""
    communication = records(trace).intervals()
    return communication, subtract(communication, computation(trace))


def step_trace(
    trace: Trace, selection: Selection, steps: HostSteps, calls: PhaseCalls, work: PhaseWork
) -> StepTrace:
    """The step trace of the steps of ``selection``.

    Args:
        trace: The trace.
        selection: What is selected; its phase is not looked at.
        steps: Its steps as the host saw them.
        calls: The phases in them.
        work: Their device work.

    Raises:
        SelectionError: steps that are not in this trace.
    """
    windows = step_windows(trace, selection)
    of_step = windows.of_step[steps.row]
    events = _of_device(trace, work, of_step)
    side: Side = "device"
    if are_on_device(trace, boundaries(selection)):
        # They are the edges themselves: work that began before them may end behind.
        events = _of_calls(calls, of_step)
    elif not len(events.window):
        events, side = _of_calls(calls, of_step), "host"
    passes = _passes(events, windows)
    return _parts(trace, windows, side, passes)


def _of_device(trace: Trace, work: PhaseWork, of_step: Int64) -> _Events:
    """Kernels, copies and memsets of passes; collectives are none: they may go on after a pass."""
    chosen = (work.phase == Phase.FORWARD) | (work.phase == Phase.BACKWARD)
    chosen &= ~kernel_kinds(trace).is_communication[work.row]
    rows = work.row[chosen]
    start = trace.device_work["start_ns"].to_numpy()[rows]
    return _Events(
        of_step[work.step[chosen]],
        work.phase[chosen] == Phase.BACKWARD,
        work.call[chosen],
        start,
        start + trace.device_work["dur_ns"].to_numpy()[rows],
    )


def _of_calls(calls: PhaseCalls, of_step: Int64) -> _Events:
    chosen = (calls.phase == Phase.FORWARD) | (calls.phase == Phase.BACKWARD)
    return _Events(
        of_step[calls.step[chosen]],
        calls.phase[chosen] == Phase.BACKWARD,
        np.flatnonzero(chosen),
        calls.start_ns[chosen],
        calls.end_ns[chosen],
    )


class _Passes(NamedTuple):
    """Forward and backward passes, by window and time, disjoint."""

    window: Int64
    is_backward: Bools
    start_ns: Int64
    end_ns: Int64


def _passes(events: _Events, windows: StepWindows) -> _Passes:
    """Runs of events of one call. A forward pass lasts until the backward pass that is next, a
    backward pass until its last event ends; nothing goes on over the beginning of the next run."""
    inside = np.flatnonzero(events.window >= 0)
    window = events.window[inside]
    start = np.clip(events.start_ns[inside], windows.start_ns[window], windows.end_ns[window])
    end = np.clip(events.end_ns[inside], windows.start_ns[window], windows.end_ns[window])
    order = np.lexsort((start, window))
    window, start, end = window[order], start[order], end[order]
    backward, call = events.is_backward[inside][order], events.call[inside][order]
    if not len(window):
        return _Passes(window, backward, start, end)
    changes = (window[1:] != window[:-1]) | (backward[1:] != backward[:-1])
    changes |= call[1:] != call[:-1]
    first = np.flatnonzero(np.append(True, changes))
    run_window, run_backward, run_start = window[first], backward[first], start[first]
    run_end = np.maximum.reduceat(end, first)
    follows = np.append(run_window[1:] == run_window[:-1], False)
    next_start = np.where(follows, np.append(run_start[1:], 0), windows.end_ns[run_window])
    run_end = np.minimum(run_end, next_start)
    leads = ~run_backward & follows & np.append(run_backward[1:], False)
    return _Passes(run_window, run_backward, run_start, np.where(leads, next_start, run_end))


def _parts(trace: Trace, windows: StepWindows, side: Side, passes: _Passes) -> StepTrace:
    count = len(windows.names)

    def summed(ns: Int64, rows: Bools | slice = slice(None)) -> Int64:
        sums = np.zeros(count, np.int64)
        np.add.at(sums, passes.window[rows], ns[rows])
        return sums

    length = passes.end_ns - passes.start_ns
    forward = summed(length, ~passes.is_backward)
    backward = summed(length, passes.is_backward)
    has_passes = np.bincount(passes.window, minlength=count) > 0
    last = windows.start_ns.copy()
    np.maximum.at(last, passes.window, passes.end_ns)
    tail = np.where(has_passes, windows.end_ns - last, 0)
    communication, alone = exposed_communication(trace)
    inside = summed(total_within(communication, passes.start_ns, passes.end_ns))
    exposed = summed(total_within(alone, passes.start_ns, passes.end_ns))
    return StepTrace(
        windows,
        side,
        has_passes,
        windows.end_ns - windows.start_ns - forward - backward - tail,
        forward,
        backward,
        tail,
        inside - exposed,
        exposed,
        total_within(communication, last, windows.end_ns),
    )
