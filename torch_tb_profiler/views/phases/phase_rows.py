"""The table of phases: how long the host was in each, and the device work launched there.

Definitions: ``docs/views-phases.md#phases``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.times import (
    HostSteps,
    PhaseCalls,
    PhaseWork,
    device_phases,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.call_times import call_columns, side_keys, time_reasons, with_times
from torch_tb_profiler.views.measured_columns import (
    MEASURED_COLUMNS,
    measured_columns,
    measured_reasons,
)
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

STEP = "step"
NOT_CALLED = (
    "Other is the rest of the steps and has no calls; phases that do not occur have no values."
)
NO_STEPS = "The selection holds no step."

PHASES = TableSpec(
    "phases",
    "Phases",
    "The steps and their phases on the host: every moment belongs to one phase, so the phases "
    "add up to the steps. Device work has the phase of its launch.",
    (
        Column("phase", "Phase", "string", None, "step, or a phase of the steps."),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Number of steps, or of occurrences of the phase; null for other, which is the rest "
            "of the steps.",
        ),
        *call_columns("the time of the steps"),
        Column(
            "gpu_busy_us",
            "GPU Busy",
            "number",
            "us",
            "Time in which at least one kernel, copy or memset launched in the phase ran; summed "
            "over GPUs.",
        ),
        *MEASURED_COLUMNS,
    ),
)


def phases_table(
    trace: Trace,
    steps: HostSteps,
    calls: PhaseCalls,
    work: PhaseWork,
    unknown: Mapping[Phase, str],
) -> Table:
    """The rows of :data:`PHASES`.

    Args:
        trace: The trace.
        steps: The selected steps.
        calls: Stretches of phases in them.
        work: The device work launched in them.
        unknown: Unknown phases, and why.
    """
    cpu, gpu = _durations(trace, calls, work)
    has_gpu = no_device_time(trace) is None
    device = device_phases(trace, work)
    length = steps.end_ns - steps.start_ns
    step_gpu = np.zeros(len(length), np.int64)
    np.add.at(step_gpu, work.step, trace.device_work["dur_ns"].to_numpy()[work.row])
    rows = [_row(STEP, length, step_gpu, int(device.busy_ns[-1]), has_gpu)]
    for phase in Phase:
        name = phase.name.lower()
        if phase in unknown:
            rows.append({"phase": name})
        elif phase is Phase.OTHER:
            own = {"cpu_total_ns": int(length.sum()) - sum(int(part.sum()) for part in cpu)}
            if has_gpu:
                own |= {
                    "gpu_total_ns": int(device.total_ns[phase]),
                    "gpu_busy_ns": int(device.busy_ns[phase]),
                }
            rows.append({"phase": name, **own})
        else:
            of_phase = _row(name, cpu[phase], gpu[phase], int(device.busy_ns[phase]), has_gpu)
            if has_gpu:
                of_phase["gpu_total_ns"] = int(device.total_ns[phase])
            rows.append(of_phase)
    frame = pl.DataFrame(rows, schema=_SCHEMA)
    filled = with_times(frame, int(length.sum()), int(device.total_ns[-1])).with_columns(
        microseconds(frame["gpu_busy_ns"]).alias("gpu_busy_us")
    )
    filled = filled.hstack(_measured(trace, work))
    shown = filled.select(list(PHASES.polars_schema()))
    reasons = _reasons(trace, steps, unknown) | measured_reasons(trace)
    return Table(PHASES, shown, needed(shown, reasons))


def _measured(trace: Trace, work: PhaseWork) -> pl.DataFrame:
    """What counters measured of the device work of the steps and of each phase."""
    known = np.flatnonzero(work.phase >= 0)
    rows = np.concatenate((work.row, work.row[known]))
    group = np.concatenate((np.zeros_like(work.row), work.phase[known].astype(np.int64) + 1))
    return measured_columns(trace, rows, group, len(Phase) + 1)


_FIGURES = ("total", "mean", "max", "min")
_SCHEMA: dict[str, type[pl.DataType]] = {
    "phase": pl.String,
    "calls": pl.Int64,
    **{
        f"{side}_{figure}_ns": pl.Float64 if figure == "mean" else pl.Int64
        for side in ("cpu", "gpu")
        for figure in _FIGURES
    },
    "gpu_busy_ns": pl.Int64,
}


def _row(name: str, cpu: Int64, gpu: Int64, busy_ns: int, has_gpu: bool) -> dict[str, object]:
    row: dict[str, object] = {"phase": name, "calls": len(cpu), "cpu_total_ns": int(cpu.sum())}
    row |= _of_calls("cpu", cpu)
    if has_gpu:
        row |= {"gpu_total_ns": int(gpu.sum()), "gpu_busy_ns": busy_ns, **_of_calls("gpu", gpu)}
    return row


def _of_calls(side: str, ns: Int64) -> dict[str, object]:
    if not len(ns):
        return {}
    return {
        f"{side}_mean_ns": int(ns.sum()) / len(ns),
        f"{side}_max_ns": int(ns.max()),
        f"{side}_min_ns": int(ns.min()),
    }


def _durations(trace: Trace, calls: PhaseCalls, work: PhaseWork) -> tuple[list[Int64], list[Int64]]:
    """Per phase but *other* the time of each call on the host, and of its device work."""
    duration = calls.end_ns - calls.start_ns
    gpu = np.zeros(len(duration), np.int64)
    called = work.call >= 0
    np.add.at(gpu, work.call[called], trace.device_work["dur_ns"].to_numpy()[work.row[called]])
    detected = [phase for phase in Phase if phase is not Phase.OTHER]
    return (
        [duration[calls.phase == phase] for phase in detected],
        [gpu[calls.phase == phase] for phase in detected],
    )


def _reasons(trace: Trace, steps: HostSteps, unknown: Mapping[Phase, str]) -> dict[str, str]:
    """Why cells are null, by column."""
    distinct = set(unknown.values())
    if not len(steps.row):
        of_phases = NO_STEPS
    elif len(distinct) == 1:
        of_phases = distinct.pop()
    else:
        names = ", ".join(phase.name.lower() for phase in unknown)
        of_phases = f"The recording holds no data on {names}." if names else ""
    of_times = time_reasons(trace)
    if "gpu_total_us" in of_times:
        of_times["gpu_busy_us"] = of_times["gpu_total_us"]
    of_calls = {key for key in _KEYS if key.endswith(("calls", "mean_us", "max_us", "min_us"))}
    return {
        key: " ".join(
            filter(None, (of_phases, of_times.get(key, NOT_CALLED if key in of_calls else "")))
        )
        for key in _KEYS
    }


_KEYS = ("calls", *side_keys("cpu"), *side_keys("gpu"), "gpu_busy_us")
