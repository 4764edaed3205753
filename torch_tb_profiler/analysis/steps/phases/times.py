"""How long the phases of selected steps took on the host, and the device work launched in them.

Definitions: ``docs/views-phases.md#phases``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import (
    boundaries,
    device_work_mask,
    device_work_steps,
    phases_of_slices,
    selected_steps,
    time_range,
)
from torch_tb_profiler.analysis.steps.phases.boundaries import (
    UnknownBoundaryError,
    bounded_stretches,
)
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import launched_in
from torch_tb_profiler.analysis.steps.phases.evidence import UNKNOWN, Phase
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.model import Trace


class HostSteps(Struct, frozen=True, eq=False):
    """Selected steps as the host saw them, cut at the edges of the time range. Aligned.

    Attributes:
        row: Row of ``trace.steps``.
        names: Name of each.
        process: Process of each, -1 where the step is of all.
        start_ns: Start of its range on the host.
        end_ns: End likewise.
    """

    row: Int64
    names: list[str]
    process: Int64
    start_ns: Int64
    end_ns: Int64


def host_steps(trace: Trace, selection: Selection) -> HostSteps:
    """The steps of ``selection``; without ``steps`` all that were recorded to their end.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    steps = trace.steps
    chosen = selected_steps(trace, selection)
    if selection.steps is None:
        chosen = chosen & steps["kept"].to_numpy()
    start, end = (steps[key].to_numpy().copy() for key in ("host_start_ns", "host_end_ns"))
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        chosen = chosen & (end > first_ns)
        start = np.maximum(start, first_ns)
    if last_ns is not None:
        chosen = chosen & (start < last_ns)
        end = np.minimum(end, last_ns)
    rows = np.flatnonzero(chosen)
    names: list[str] = steps["name"].gather(rows).to_list()
    return HostSteps(rows, names, indices(steps["process"])[rows], start[rows], end[rows])


class PhaseCalls(Struct, frozen=True, eq=False):
    """Stretches of phases inside selected steps: aligned, by step and time, disjoint in a step.

    Attributes:
        step: Number of the step among the selected ones.
        phase: :class:`Phase`; what lies between is other.
        start_ns: Start, cut at the step.
        end_ns: End likewise.
    """

    step: Int64
    phase: Int8
    start_ns: Int64
    end_ns: Int64


def phase_calls(trace: Trace, selection: Selection, steps: HostSteps) -> PhaseCalls:
    """The stretches of phases in ``steps``.

    Raises:
        SelectionError: a border names nothing of the recording.
    """
    try:
        of_process = bounded_stretches(trace, boundaries(selection))
    except UnknownBoundaryError as error:
        raise SelectionError(str(error)) from error
    parts: list[PhaseCalls] = []
    for process in distinct_values(steps.process).tolist():
        stretches = of_process.get(process)
        if stretches is None:
            continue
        rows = np.flatnonzero(steps.process == process)
        first = np.searchsorted(stretches.end_ns, steps.start_ns[rows], "right")
        until = np.searchsorted(stretches.start_ns, steps.end_ns[rows], "left")
        counts = np.maximum(until - first, 0)
        step = np.repeat(rows, counts)
        row = np.arange(len(step)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        start = np.maximum(stretches.start_ns[row], steps.start_ns[step])
        end = np.minimum(stretches.end_ns[row], steps.end_ns[step])
        parts.append(PhaseCalls(step, stretches.phase[row], start, end))
    step, start, end = (
        np.concatenate([np.empty(0, np.int64), *(getattr(part, key) for part in parts)])
        for key in ("step", "start_ns", "end_ns")
    )
    phase = np.concatenate([np.empty(0, np.int8), *(part.phase for part in parts)])
    order = np.lexsort((start, step))
    order = order[end[order] > start[order]]
    return PhaseCalls(step[order], phase[order], start[order], end[order])


class PhaseWork(Struct, frozen=True, eq=False):
    """Device work launched in selected steps. Aligned.

    Attributes:
        row: Row of ``trace.device_work``.
        step: Number of its step among the selected ones.
        phase: Its :class:`Phase`, or ``UNKNOWN``.
        call: Number of the call of that phase it was launched in, -1 for none.
    """

    row: Int64
    step: Int64
    phase: Int8
    call: Int64


def phase_work(
    trace: Trace, selection: Selection, steps: HostSteps, calls: PhaseCalls
) -> PhaseWork:
    """The device work of ``steps``, by phase and call.

    Raises:
        SelectionError: a border names nothing of the recording.
    """
    number = np.full(trace.steps.height + 1, -1, np.int64)
    number[steps.row] = np.arange(len(steps.row))
    step = number[device_work_steps(trace)]
    rows = np.flatnonzero((step >= 0) & device_work_mask(trace, replace(selection, phase=None)))
    step = step[rows]
    phase = phases_of_slices(trace, selection)[trace.device_work["slice"].to_numpy()[rows]]
    launch = launched_in(trace)[rows]
    launch_ns = np.where(launch >= 0, trace.slices["start_ns"].to_numpy()[launch], -1)
    return PhaseWork(rows, step, phase, _call_of(calls, step, phase, launch_ns))


def _call_of(calls: PhaseCalls, step: Int64, phase: Int8, time_ns: Int64) -> Int64:
    """The last call of the phase in the step that begins no later than each time; the first one
    where none does."""
    if not len(calls.step):
        return np.full(len(step), -1, np.int64)
    # Mostly the call of the step that the time lies in is of the phase.
    in_order = bool(np.all(calls.start_ns[1:] >= calls.start_ns[:-1]))
    near = np.searchsorted(calls.start_ns, time_ns, "right") - 1 if in_order else step * 0 - 1
    matches = (near >= 0) & (calls.step[near] == step) & (calls.phase[near] == phase)
    called = np.where(matches, near, -1)
    others = np.flatnonzero(~matches & (phase >= 0))
    called[others] = _searched_call(calls, step[others], phase[others], time_ns[others])
    return called


def _searched_call(calls: PhaseCalls, step: Int64, phase: Int8, time_ns: Int64) -> Int64:
    """:func:`_call_of` wherever the times lie."""
    kinds = len(Phase)
    of_call, key = calls.step * kinds + calls.phase, step * kinds + phase
    order = np.lexsort((calls.start_ns, of_call))
    first = np.searchsorted(of_call[order], key)
    until = np.searchsorted(of_call[order], key, "right")
    # Both in one order of (key, time), calls before the work that begins with them.
    count = len(calls.step)
    keys, times = np.concatenate((of_call, key)), np.concatenate((calls.start_ns, time_ns))
    together = np.lexsort((np.arange(len(keys)) >= count, times, keys))
    position = np.empty(len(keys), np.int64)
    position[together] = np.cumsum(together < count)
    nearest = np.clip(position[count:] - 1, first, until - 1)
    called: Int64 = np.append(order, -1)[np.where(until > first, nearest, -1)]
    return called


class DevicePhases(Struct, frozen=True, eq=False):
    """Device work by phase, in ns; rows as :class:`Phase`, and one more for all work.

    Attributes:
        busy_ns: Time in which any of it ran, per device; devices add up.
        total_ns: Sum of its durations.
    """

    busy_ns: Int64
    total_ns: Int64


def device_phases(trace: Trace, work: PhaseWork) -> DevicePhases:
    """Sum and union of the device work of each phase."""
    table = trace.device_work
    start = table["start_ns"].to_numpy()[work.row]
    duration = table["dur_ns"].to_numpy()[work.row]
    _, device = factorize(indices(table["device"])[work.row])
    devices = int(device.max()) + 1 if len(device) else 1
    phases = len(Phase)
    phase = work.phase.astype(np.int64)
    group = np.where(phase == UNKNOWN, -1, phase * devices + device)
    busy = union_lengths(group, start, start + duration, phases * devices)
    every = union_lengths(device, start, start + duration, devices).sum()
    total = np.zeros(phases, np.int64)
    np.add.at(total, phase[phase >= 0], duration[phase >= 0])
    return DevicePhases(
        np.append(busy.reshape(phases, devices).sum(axis=1), every),
        np.append(total, duration.sum()),
    )
