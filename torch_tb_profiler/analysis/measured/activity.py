"""SM activity while kernels compute: what samples say, without the idle time in them.

Definitions: ``docs/advice.md#measured-activity``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals, total, total_within
from torch_tb_profiler.analysis.measured.work import signals_of_role
from torch_tb_profiler.knowledge.device_counters import counter_file
from torch_tb_profiler.trace.model import Trace

FULL = 100.0


class ComputingActivity(NamedTuple):
    """How many multiprocessors had work while kernels computed, as measured.

    Attributes:
        mean_pct: The mean; idle time inside a sample is taken off, as nothing is active then.
        covered_pct: The share of the computing time that it is of.
    """

    mean_pct: float
    covered_pct: float


def computing_activity(
    trace: Trace, device: int, computing: Intervals, others: Intervals
) -> ComputingActivity | None:
    """The measured SM activity of a device while ``computing``, from the samples that this fills by
    at least ``fill_pct`` and in which nothing else ran; None without such samples.

    Args:
        trace: The trace.
        device: Number of the device.
        computing: When kernels computed.
        others: When other kernels ran, as of communication, whose activity samples hold too.
    """
    signal = signals_of_role(trace, "sm_active").get(device)
    if signal is None:
        return None
    inside = total_within(computing, signal.start_ns, signal.end_ns)
    length = signal.end_ns - signal.start_ns
    chosen = 100 * inside >= counter_file().fill_pct * length
    chosen &= total_within(others, signal.start_ns, signal.end_ns) == 0
    computed = int(inside[chosen].sum())
    if not computed:
        return None
    mean = float((signal.value * length)[chosen].sum()) / computed
    return ComputingActivity(
        float(np.clip(mean, 0.0, FULL)), 100 * computed / max(total(computing), 1)
    )
