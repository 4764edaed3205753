"""How long each phase of each step took on one rank, and how busy its devices were meanwhile.

Phases as in ``docs/views-phases.md#how-phases-are-found``; every moment of a step on the host
belongs to one, so that the phases of a step add up to it.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.times import (
    HostSteps,
    PhaseCalls,
    phase_calls,
    phase_work,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

RANK_PHASES = pl.Schema(
    {
        "step": pl.Int32,  # row of ``trace.steps``
        "phase": pl.Int8,  # :class:`Phase`
        "host_ns": pl.Int64,  # time of the step on the host in that phase
        "device_ns": pl.Int64,  # device work launched in it ran, each device once, summed
        "busy_ns": pl.Int64,  # part of ``host_ns`` in which a device ran anything
    }
)
"""One row per step and phase that has any time or device work; no rows where the recording says
nothing of phases."""


@per_split
def rank_phases(trace: Trace) -> pl.DataFrame:
    """:data:`RANK_PHASES` of every step of one rank, whole steps or not."""
    if no_phases(trace) is not None or not trace.steps.height:
        return pl.DataFrame(schema=RANK_PHASES)
    steps = _every_step(trace)
    calls = phase_calls(trace, Selection(), steps)
    host_ns, busy_ns = _host_times(trace, steps, calls)
    device_ns = _device_times(trace, steps, calls)
    phases = len(Phase)
    rows = pl.DataFrame(
        {
            "step": np.repeat(steps.row, phases),
            "phase": np.tile(np.arange(phases), len(steps.row)),
            "host_ns": host_ns.ravel(),
            "device_ns": device_ns.ravel(),
            "busy_ns": busy_ns.ravel(),
        },
        schema_overrides=RANK_PHASES,
    )
    return rows.filter((pl.col("host_ns") > 0) | (pl.col("device_ns") > 0))


def _every_step(trace: Trace) -> HostSteps:
    steps = trace.steps
    rows = np.arange(steps.height)
    start_ns, end_ns = (steps[key].to_numpy() for key in ("host_start_ns", "host_end_ns"))
    return HostSteps(rows, steps["name"].to_list(), indices(steps["process"]), start_ns, end_ns)


def _host_times(trace: Trace, steps: HostSteps, calls: PhaseCalls) -> tuple[Int64, Int64]:
    """Host time per step and phase, ``(steps, phases)``, and the part with a busy device."""
    work = trace.device_work
    start = work["start_ns"].to_numpy()
    busy = union(start, start + work["dur_ns"].to_numpy())
    host_ns = np.zeros((len(steps.row), len(Phase)), np.int64)
    busy_ns = np.zeros_like(host_ns)
    phase = calls.phase.astype(np.int64)
    np.add.at(host_ns, (calls.step, phase), calls.end_ns - calls.start_ns)
    np.add.at(busy_ns, (calls.step, phase), total_within(busy, calls.start_ns, calls.end_ns))
    whole_ns = steps.end_ns - steps.start_ns
    host_ns[:, Phase.OTHER] += whole_ns - host_ns.sum(axis=1)
    inside = total_within(busy, steps.start_ns, steps.end_ns)
    busy_ns[:, Phase.OTHER] += inside - busy_ns.sum(axis=1)
    return host_ns, busy_ns


def _device_times(trace: Trace, steps: HostSteps, calls: PhaseCalls) -> Int64:
    """Device time of the work launched in each step and phase, ``(steps, phases)``."""
    work = phase_work(trace, Selection(), steps, calls)
    table = trace.device_work
    device = indices(table["device"])[work.row]
    devices = int(device.max(initial=0)) + 2  # -1 is a device too
    phase = work.phase.astype(np.int64)
    group = np.where(phase < 0, -1, (work.step * len(Phase) + phase) * devices + device + 1)
    start = table["start_ns"].to_numpy()[work.row]
    end = start + table["dur_ns"].to_numpy()[work.row]
    lengths = union_lengths(group, start, end, len(steps.row) * len(Phase) * devices)
    by_phase: Int64 = lengths.reshape(len(steps.row), len(Phase), devices).sum(axis=2)
    return by_phase
