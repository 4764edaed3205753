"""Energy of devices: the integral of their sampled power.

Definitions: ``docs/metrics.md#energy``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.measured.counters import counters_of_role
from torch_tb_profiler.analysis.recording.samples import LONG, median_interval_ns
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace

NS_PER_S = 1e9


class WindowEnergy(NamedTuple):
    """The energy of one device in windows of time, one value per window.

    Attributes:
        joules: Trapezoids between the samples of power inside; a sample before an edge is joined by
            a line to the one behind it. NaN where nothing is measured.
        error_joules: How far the energy may be off while the power stays between each two samples
            that follow each other: half their difference times the time between them. The error of
            the sensor, and what happens in uncovered time, are no part of it.
        covered_ns: Time between samples inside.
        samples: Samples inside, edges included.
    """

    joules: Float64
    error_joules: Float64
    covered_ns: Int64
    samples: Int64


def window_energy(trace: Trace, start_ns: Int64, end_ns: Int64) -> dict[int, WindowEnergy]:
    """Device → its energy in the windows ``[start_ns[i], end_ns[i])``; only devices with at least
    two samples of their power."""
    energies = {}
    for device, counter in counters_of_role(trace, "power").items():
        if len(counter.series.time_ns) > 1:
            time_ns, watts = counter.series.time_ns, counter.series.value
            energies[device] = _energy(time_ns, watts, start_ns, end_ns)
    return energies


def _energy(time_ns: Int64, watts: Float64, start_ns: Int64, end_ns: Int64) -> WindowEnergy:
    """Where nothing was sampled for :data:`LONG` usual intervals, nothing is known."""
    passed = np.diff(time_ns)
    is_known = passed <= LONG * float(median_interval_ns(time_ns))
    span = np.where(is_known, passed, 0)
    slope = np.diff(watts) / np.maximum(passed, 1)
    difference = np.abs(np.diff(watts)) / 2
    trapezoid = (watts[1:] + watts[:-1]) / 2 * span
    time_before = np.append(0, np.cumsum(span))
    joules_before = np.append(0.0, np.cumsum(trapezoid))
    error_before = np.append(0.0, np.cumsum(difference * span))

    def until(at_ns: Int64) -> tuple[Float64, Float64, Int64]:
        at_ns = np.clip(at_ns, time_ns[0], time_ns[-1])
        row = np.minimum(np.searchsorted(time_ns, at_ns, side="right") - 1, len(passed) - 1)
        since = np.where(is_known[row], at_ns - time_ns[row], 0)
        joules = joules_before[row] + (watts[row] + slope[row] * since / 2) * since
        return joules, error_before[row] + difference[row] * since, time_before[row] + since

    end_ns = np.maximum(start_ns, end_ns)
    (begin, begin_error, begin_ns), (finish, finish_error, finish_ns) = (
        until(start_ns),
        until(end_ns),
    )
    covered = finish_ns - begin_ns
    inside = np.searchsorted(time_ns, end_ns, "right") - np.searchsorted(time_ns, start_ns, "left")
    is_covered = covered > 0
    return WindowEnergy(
        np.where(is_covered, (finish - begin) / NS_PER_S, np.nan),
        np.where(is_covered, (finish_error - begin_error) / NS_PER_S, np.nan),
        covered,
        inside,
    )
