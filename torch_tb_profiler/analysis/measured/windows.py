"""Means of measured counters over windows of time, such as steps: mean of the devices.

Definitions: ``docs/metrics.md#measured-counters``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.measured.signals import window_sums
from torch_tb_profiler.analysis.measured.work import signals_of_role
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace


class WindowMeans(Struct, frozen=True, eq=False):
    """One role over windows, one value per window.

    Attributes:
        mean: The time-weighted mean, of several devices the mean of those with values there; NaN
            where no interval reaches into the window.
        covered_pct: The share of the window that intervals describe, mean of the devices with
            counters.
        samples: Intervals that reach into it, of all devices.
    """

    mean: Float64
    covered_pct: Float64
    samples: Int64


def window_means(
    trace: Trace, role: str, start_ns: Int64, end_ns: Int64, devices: Iterable[int]
) -> WindowMeans | None:
    """A role over the windows ``[start_ns[i], end_ns[i])``; None where the recording has no values
    of it for ``devices``. The bandwidth of memory is that of reads and writes where only these are
    counted."""
    wanted = set(devices)
    signals = {
        device: each for device, each in signals_of_role(trace, role).items() if device in wanted
    }
    if not signals and role == "dram_bandwidth":
        parts = [
            window_means(trace, each, start_ns, end_ns, wanted)
            for each in ("dram_read_pct", "dram_write_pct")
        ]
        read, written = parts
        if read is None or written is None:
            return None
        return WindowMeans(read.mean + written.mean, read.covered_pct, read.samples)
    if not signals:
        return None
    sums = [window_sums(each, start_ns, end_ns) for each in signals.values()]
    means = np.array([each.mean for each in sums])
    known = ~np.isnan(means)
    covered = np.mean([each.covered_ns for each in sums], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, means, 0.0).sum(axis=0) / known.sum(axis=0)
        covered_pct = 100 * covered / np.where(end_ns > start_ns, end_ns - start_ns, np.nan)
    samples = np.sum([each.samples for each in sums], axis=0)
    return WindowMeans(mean, covered_pct, samples)


class MeanTogether(NamedTuple):
    """One role over windows together.

    Attributes:
        mean: The time-weighted mean; NaN where no interval reaches into a window.
        covered_ns: Time that intervals describe.
        samples: Different intervals that reach into a window.
    """

    mean: float
    covered_ns: int
    samples: int


def mean_together(
    trace: Trace, role: str, start_ns: Int64, end_ns: Int64, device: int
) -> MeanTogether | None:
    """A role of one device over disjoint, ascending windows together; as of :func:`window_means`
    else."""
    signal = signals_of_role(trace, role).get(device)
    if signal is None:
        if role != "dram_bandwidth":
            return None
        read, written = (
            mean_together(trace, each, start_ns, end_ns, device)
            for each in ("dram_read_pct", "dram_write_pct")
        )
        if read is None or written is None:
            return None
        return read._replace(mean=read.mean + written.mean)
    sums = window_sums(signal, start_ns, end_ns)
    covered = int(sums.covered_ns.sum())
    reaching = sums.samples > 0
    first, last = sums.first[reaching], sums.last[reaching]
    shared = int(np.count_nonzero(first[1:] == last[:-1]))
    mean = float(sums.integral.sum()) / covered if covered else float("nan")
    return MeanTogether(mean, covered, int(sums.samples.sum()) - shared)
