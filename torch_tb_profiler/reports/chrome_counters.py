"""GPU utilization and est. SM efficiency as counter events of a Chrome trace.

Definitions: ``docs/metrics.md#gpus``. Values that are rounding residue are 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.idle.utilization import GpuProfile, gpu_profiles
from torch_tb_profiler.reports.chrome_tracks import Event
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

MAX_BUCKETS = 100
EDGES_AT_ONCE = 10_000
"""Values that are Python objects at one time: est. SM efficiency has one per start and end."""


def counter_events(
    trace: Trace, process_of_device: Mapping[int, int | str], windows: tuple[Int64, Int64]
) -> Iterator[Event]:
    """Both counters of every GPU that ran kernels, within each window.

    Args:
        trace: The trace.
        process_of_device: Where viewers show each device.
        windows: Starts and ends, sorted and disjoint.
    """
    for device, profile in gpu_profiles(trace).items():
        pid = process_of_device.get(device, device)
        for start_ns, end_ns in zip(*(edges.tolist() for edges in windows), strict=True):
            edges, busy = utilization_buckets(profile, start_ns, end_ns)
            name = f"GPU {device} Utilization"
            yield from _counter({"name": name, "pid": pid}, "GPU Utilization", edges, busy)
            if profile.filled is not None:
                edges, filled = efficiency_steps(profile, start_ns, end_ns)
                name = f"GPU {device} Est. SM Efficiency"
                yield from _counter({"name": name, "pid": pid}, "Est. SM Efficiency", edges, filled)


def utilization_buckets(profile: GpuProfile, start_ns: int, end_ns: int) -> tuple[Int64, Float64]:
    """Starts of the buckets with the end behind them, and the busy share of each with a 0 behind.

    The width is the smallest power of ten of µs that makes at most 100 buckets; the last one
    reaches to the end.
    """
    width_ns = NS_PER_US
    while (end_ns - start_ns) // width_ns > MAX_BUCKETS:
        width_ns *= 10
    count = max(1, (end_ns - start_ns) // width_ns)
    edges = np.append(start_ns + width_ns * np.arange(count, dtype=np.int64), end_ns)
    busy = total_within(profile.busy, edges[:-1], edges[1:]) / np.diff(edges)
    return edges, np.append(busy, 0.0)


def efficiency_steps(profile: GpuProfile, start_ns: int, end_ns: int) -> tuple[Int64, Float64]:
    """Moments from ``start_ns`` on at which est. SM efficiency changes, and its value from each."""
    nothing = np.array([start_ns, end_ns], np.int64), np.zeros(2)
    if profile.filled is None:
        return nothing
    moments, level = profile.filled.levels()
    inside = (moments > start_ns) & (moments < end_ns)
    before = np.searchsorted(moments, start_ns, side="right") - 1
    first = level[before] if before >= 0 else 0.0
    edges = np.concatenate(([start_ns], moments[inside], [end_ns]))
    return edges, np.concatenate(([first], level[inside], [0.0]))


def _counter(identity: Event, series: str, edges: Int64, values: Float64) -> Iterator[Event]:
    """A base line of 1, so that the axis reaches it, and the value from each edge on."""
    base = {series: 1.0}
    yield {"ph": "C", **identity, "ts": float(edges[0]) / NS_PER_US, "args": base}
    for first in range(0, len(edges), EDGES_AT_ONCE):
        part = slice(first, first + EDGES_AT_ONCE)
        for time_ns, value in zip(edges[part].tolist(), values[part].tolist(), strict=True):
            yield {"ph": "C", **identity, "ts": time_ns / NS_PER_US, "args": {series: value}}
