"""Energy of steps, of the tokens that a server computes and of the samples of timed steps.

Definitions: ``docs/metrics.md#energy``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.measured.energy import window_energy
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.analysis.steps.phases.evidence import serving_ranges
from torch_tb_profiler.analysis.steps.throughput import timed_steps
from torch_tb_profiler.knowledge.device_counters import counter_file
from torch_tb_profiler.knowledge.phases import serving_window
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US


class StepEnergy(Struct, frozen=True, eq=False):
    """Energy of windows, one value per window: the sum over the devices that ran work and whose
    power was sampled.

    Attributes:
        joules: NaN where samples of one of them cover less than ``energy_pct`` of the window.
        error_joules: How far it may be off, as of ``WindowEnergy``; NaN likewise.
        covered_pct: The share of the window between samples of power, the least of the devices.
    """

    joules: Float64
    error_joules: Float64
    covered_pct: Float64


class EnergyPerUnit(Struct, frozen=True):
    """Energy of what a program did, divided among it.

    Attributes:
        joules: Energy of one unit: that between samples of power, divided by the units times the
            share of their time between samples.
        error_joules: How far it may be off.
        count: How many units that is of.
    """

    joules: float
    error_joules: float
    count: int


def step_energy(trace: Trace, start_ns: Int64, end_ns: Int64) -> StepEnergy | None:
    """The energy of the windows ``[start_ns[i], end_ns[i])``; None where no power was sampled of
    the devices that ran work."""
    used = set(trace.devices.filter("used")["device"].to_list())
    energies = [
        each for device, each in window_energy(trace, start_ns, end_ns).items() if device in used
    ]
    if not energies:
        return None
    length = np.where(end_ns > start_ns, end_ns - start_ns, np.nan)
    covered = 100 * np.min([each.covered_ns for each in energies], axis=0) / length
    is_known = covered >= counter_file().energy_pct
    joules = np.sum([each.joules for each in energies], axis=0)
    error = np.sum([each.error_joules for each in energies], axis=0)
    return StepEnergy(
        np.where(is_known, joules, np.nan), np.where(is_known, error, np.nan), covered
    )


def energy_per_window(trace: Trace, start_ns: Int64, end_ns: Int64) -> EnergyPerUnit | None:
    """The mean energy of windows, over those where it is known; None where there is none."""
    return _divided(trace, start_ns, end_ns, np.ones(len(start_ns)))


def energy_per_token(trace: Trace, selection: Selection) -> EnergyPerUnit | None:
    """The energy from the first to the last window of a server's scheduler in the selection,
    divided by the tokens that these computed; None where either is unknown.

    Raises:
        SelectionError: steps or a phase that are not in this trace.
    """
    ranges = serving_ranges(trace)
    slices = trace.slices[ranges[slice_mask(trace, selection)[ranges]]].sort(
        "start_ns", "dur_ns", descending=[False, True]
    )
    tokens = {
        code: window.tokens
        for code in slices["name_code"].unique().to_list()
        if (window := serving_window(str(trace.strings[code]))) is not None
    }
    start = slices["start_ns"].to_numpy()
    end = start + slices["dur_ns"].to_numpy()
    counted = [tokens.get(code) for code in slices["name_code"].to_list()]
    # A window around windows counts the same tokens: the outermost ones count.
    reached = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end)[:-1])
    outermost = [
        count for count, is_outer in zip(counted, start >= reached, strict=True) if is_outer
    ]
    if not outermost or None in outermost or not sum(each or 0 for each in outermost):
        return None
    whole = sum(each or 0 for each in outermost)
    return _divided(trace, start[:1], end.max(keepdims=True), np.array([float(whole)]))


def energy_per_sample(trace: Trace) -> EnergyPerUnit | None:
    """The energy of the timed training steps that samples of power cover, divided by the samples of
    their batches; None where either is unknown."""
    timed = timed_steps(trace)
    if timed is None:
        return None
    parts = (timed.train, timed.traced)
    start, length, count = (
        np.concatenate([getattr(part, key) for part in parts])
        for key in ("start_us", "duration_us", "samples")
    )
    known = np.isfinite(start) & np.isfinite(length) & (count > 0)
    start_ns = np.round(start[known] * NS_PER_US).astype(np.int64)
    length_ns = np.round(length[known] * NS_PER_US).astype(np.int64)
    return _divided(trace, start_ns, start_ns + length_ns, count[known])


def _divided(trace: Trace, start_ns: Int64, end_ns: Int64, count: Float64) -> EnergyPerUnit | None:
    energy = step_energy(trace, start_ns, end_ns)
    if energy is None:
        return None
    known = ~np.isnan(energy.joules)
    units = float((count * energy.covered_pct)[known].sum()) / 100
    if not units:
        return None
    joules, error = (
        float(values[known].sum()) / units for values in (energy.joules, energy.error_joules)
    )
    return EnergyPerUnit(joules, error, round(float(count[known].sum())))
