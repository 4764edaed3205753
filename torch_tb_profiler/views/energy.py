"""Energy of steps and of recordings: columns and facts.

Definitions: ``docs/metrics.md#energy``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.measured.counters import counters_of_role
from torch_tb_profiler.analysis.measured.energy import WindowEnergy, window_energy
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.step_energy import (
    EnergyPerUnit,
    energy_per_sample,
    energy_per_token,
    energy_per_window,
    step_energy,
)
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.device_counters import counter_file
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, Fact

NO_POWER = "The recording has no samples of the power of a GPU that ran work."
ONE_SAMPLE = "Energy needs at least two samples of power."
NOT_COVERED = f"Samples of power cover less than {counter_file().energy_pct:.0f} % of it."
NS_PER_S = 1e9

ENERGY_COLUMNS = (
    Column(
        "energy_j",
        "Energy (J)",
        "number",
        None,
        "Integral of the sampled power (trapezoids between samples), summed over the GPUs that ran "
        "work. Where samples cover only a part of the time, the energy is of that part.",
        additive=True,
    ),
    Column(
        "energy_error_j",
        "Energy Error (J)",
        "number",
        None,
        "How far Energy may be off while the power stays between two samples that follow each "
        "other; what the sensor averages is not in it.",
        hidden=True,
        additive=True,
    ),
    Column(
        "energy_coverage_pct",
        "Energy Coverage",
        "number",
        "pct",
        "Share of the time between samples of power, the least of the GPUs.",
        hidden=True,
    ),
)

_HELP = "Integral of the sampled power: trapezoids between samples."


def energy_of_windows(trace: Trace, start_ns: Int64, end_ns: Int64) -> pl.DataFrame:
    """The values of :data:`ENERGY_COLUMNS`, one row per window ``[start_ns[i], end_ns[i])``."""
    energy = step_energy(trace, start_ns, end_ns)
    keys = [column.key for column in ENERGY_COLUMNS]
    if energy is None:
        return pl.DataFrame({key: [None] * len(start_ns) for key in keys}).cast(pl.Float64)
    values = (energy.joules, energy.error_joules, energy.covered_pct)
    return pl.DataFrame(dict(zip(keys, values, strict=True)), nan_to_null=True)


def energy_reasons(trace: Trace) -> dict[str, str]:
    """Why values of :data:`ENERGY_COLUMNS` are null, by key."""
    powers = counters_of_role(trace, "power")
    reason = missing_reason(trace, "gpu_metrics", NO_POWER)
    if powers:
        most = max(len(each.series.value) for each in powers.values())
        reason = NOT_COVERED if most > 1 else ONE_SAMPLE
    return dict.fromkeys((column.key for column in ENERGY_COLUMNS), reason)


def energy_facts(trace: Trace, selection: Selection, windows: StepWindows) -> tuple[Fact, ...]:
    """The energy of each GPU in the time of ``windows``, per step, per token and per sample; none
    where no power was sampled.

    Raises:
        SelectionError: steps or a phase that are not in this trace.
    """
    powers = counters_of_role(trace, "power")
    if not powers:
        return ()
    energies = window_energy(trace, windows.start_ns, windows.end_ns)
    facts = [
        fact
        for device in sorted(powers)
        for fact in _of_device(device, energies.get(device), windows)
    ]
    averaged = windows.of_averages
    per_step = energy_per_window(trace, averaged.start_ns, averaged.end_ns)
    reason = energy_reasons(trace)["energy_j"]
    facts.append(
        Fact(
            "energy_per_step_j",
            "Energy per step (J)",
            None if per_step is None else per_step.joules,
            None,
            None,
            f"{_HELP} Mean of the steps that samples cover, of all GPUs together"
            f"{_counted(per_step, 'step')}.",
            reason if per_step is None else None,
        )
    )
    for key, title, energy, unit in (
        ("energy_per_token_j", "Energy per token (J)", energy_per_token(trace, selection), "token"),
        ("energy_per_sample_j", "Energy per sample (J)", energy_per_sample(trace), "sample"),
    ):
        if energy is not None:
            text = f"{_HELP} Divided by what was computed{_counted(energy, unit)}."
            facts.append(Fact(key, title, energy.joules, None, None, text))
    return tuple(facts)


def _of_device(device: int, energy: WindowEnergy | None, windows: StepWindows) -> list[Fact]:
    scope = f"GPU {device}"
    known = None if energy is None else ~np.isnan(energy.joules)
    if energy is None or known is None or not known.any():
        reason = ONE_SAMPLE if energy is None else NOT_COVERED
        return [Fact("energy_j", "Energy (J)", None, None, scope, _HELP, reason)]
    joules, error = (float(values[known].sum()) for values in (energy.joules, energy.error_joules))
    covered, whole = int(energy.covered_ns.sum()), int((windows.end_ns - windows.start_ns).sum())
    text = (
        f"{_HELP} Of the {duration_text(covered / NS_PER_US)} between samples, "
        f"{100 * covered / whole:.0f} % of the steps' time; ± {error:.3g} J while the power stays "
        "between two samples that follow each other."
    )
    return [
        Fact("energy_j", "Energy (J)", joules, None, scope, text),
        Fact(
            "mean_power_w",
            "Mean power (W)",
            joules / covered * NS_PER_S,
            None,
            scope,
            "Energy divided by the time between samples of power.",
        ),
    ]


def _counted(energy: EnergyPerUnit | None, unit: str) -> str:
    if energy is None:
        return ""
    units = unit if energy.count == 1 else f"{unit}s"
    return f" ({energy.count:,} {units}; ± {energy.error_joules:.3g} J each)"
