"""Facts of the memory traffic that hardware counters measured.

Definitions: ``docs/views-efficiency.md#measured-bandwidth``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.efficiency.traffic import work_traffic
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge.peaks import DevicePeaks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact

NO_BANDWIDTH = (
    "The memory bandwidth of this device is unknown: specify it with --peak bandwidth_gb_per_s=…."
)


def measured_facts(
    trace: Trace, selection: Selection, peaks: Mapping[int, DevicePeaks], peak: str | None
) -> tuple[Fact, ...]:
    """Achieved bandwidth of the memory of each device while its work ran, where it was measured.

    Raises:
        SelectionError: the selection or ``peak`` makes no sense for this trace.
    """
    traffic = work_traffic(trace, peak)
    if traffic is None:
        return ()
    device = np.where(device_work_mask(trace, selection), indices(trace.device_work["device"]), -1)
    facts = []
    for gpu in np.unique(device[device >= 0]).tolist():
        rows = device == gpu
        measured_ns, work_ns = (
            int(values[rows].sum())
            for values in (traffic.measured_ns, trace.device_work["dur_ns"].to_numpy())
        )
        if not measured_ns:
            continue
        rate = float(traffic.bytes[rows].sum()) / measured_ns
        known = peaks.get(gpu)
        bandwidth = None if known is None else known.bandwidth_gb_per_s
        text = (
            "Achieved bandwidth of the device's memory by hardware counters, over "
            f"{100 * measured_ns / work_ns:.0f} % of the time of its kernels, copies and memsets"
        )
        scope = f"GPU {gpu}"
        facts += [
            Fact(
                "measured_memory_gb_per_s",
                "Measured memory throughput",
                rate,
                "gb_per_s",
                scope,
                f"{text}.",
            ),
            Fact(
                "measured_memory_bandwidth_pct",
                "Measured share of memory bandwidth",
                None if bandwidth is None else 100 * rate / bandwidth,
                "pct",
                scope,
                f"{text}, as share of the peak bandwidth.",
                NO_BANDWIDTH if bandwidth is None else None,
            ),
        ]
    return tuple(facts)
