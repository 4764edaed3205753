"""GPU utilization, est. SM efficiency, copy bandwidth and the queues of streams as counter events
of a Chrome trace.

Definitions: ``docs/metrics.md#gpus``, ``docs/views-timeline.md#counters``. Values that are rounding
residue are 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import WeightProfile, total_within
from torch_tb_profiler.analysis.idle.utilization import GpuProfile, gpu_profiles
from torch_tb_profiler.analysis.kernels.copy_rates import copy_rates
from torch_tb_profiler.analysis.kernels.launches.streams import busiest_queues
from torch_tb_profiler.reports.chrome_tracks import ChromeTracks, Event
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

MAX_BUCKETS = 100
MAX_QUEUES = 8
"""Streams of one device whose queues are written."""

EDGES_AT_ONCE = 10_000
"""Values that are Python objects at one time: est. SM efficiency has one per start and end."""


def counter_events(
    trace: Trace, tracks: ChromeTracks, windows: tuple[Int64, Int64]
) -> Iterator[Event]:
    """The counters of every device that ran work, within each window.

    Args:
        trace: The trace.
        tracks: Where viewers show each device, and under which number.
        windows: Starts and ends, sorted and disjoint.
    """
    spans = list(zip(*(edges.tolist() for edges in windows), strict=True))
    for device, profile in gpu_profiles(trace).items():
        pid, number = tracks.process_of(device), tracks.number_of(device)
        for start_ns, end_ns in spans:
            edges, busy = utilization_buckets(profile, start_ns, end_ns)
            name = f"GPU {number} Utilization"
            identity: Event = {"name": name, "pid": pid}
            yield from _percentage(identity, "GPU Utilization", edges, busy)
            if profile.filled is not None:
                edges, filled = levels_within(profile.filled, start_ns, end_ns)
                identity = {"name": f"GPU {number} Est. SM Efficiency", "pid": pid}
                yield from _percentage(identity, "Est. SM Efficiency", edges, filled)
    for device, name, series, curve in _levels(trace):
        title = f"GPU {tracks.number_of(device)} {name}"
        identity = {"name": title, "pid": tracks.process_of(device)}
        for start_ns, end_ns in spans:
            yield from _counter(identity, series, *levels_within(curve, start_ns, end_ns))


def _levels(trace: Trace) -> Iterator[tuple[int, str, str, WeightProfile]]:
    """Counters that are exact at every moment: device, name, name of the value, values."""
    for rate in copy_rates(trace):
        direction = rate.direction or "unknown direction"
        yield rate.device, f"Copy Bandwidth {direction}", "GB/s", rate.gb_per_s
    for stream, queue in busiest_queues(trace, MAX_QUEUES)[0]:
        yield stream.device, f"Stream {stream.stream} Launch Queue", "waiting", queue


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


def levels_within(profile: WeightProfile, start_ns: int, end_ns: int) -> tuple[Int64, Float64]:
    """Moments from ``start_ns`` on at which a profile changes, and its value from each; 0 from
    ``end_ns`` on."""
    moments, level = profile.levels()
    inside = (moments > start_ns) & (moments < end_ns)
    before = np.searchsorted(moments, start_ns, side="right") - 1
    first = level[before] if before >= 0 else 0.0
    edges = np.concatenate(([start_ns], moments[inside], [end_ns]))
    return edges, np.concatenate(([first], level[inside], [0.0]))


def _percentage(identity: Event, series: str, edges: Int64, values: Float64) -> Iterator[Event]:
    """A base line of 1, so that the axis reaches it, and the value from each edge on."""
    yield {"ph": "C", **identity, "ts": float(edges[0]) / NS_PER_US, "args": {series: 1.0}}
    yield from _counter(identity, series, edges, values)


def _counter(identity: Event, series: str, edges: Int64, values: Float64) -> Iterator[Event]:
    """The value from each edge on."""
    for first in range(0, len(edges), EDGES_AT_ONCE):
        part = slice(first, first + EDGES_AT_ONCE)
        for time_ns, value in zip(edges[part].tolist(), values[part].tolist(), strict=True):
            yield {"ph": "C", **identity, "ts": time_ns / NS_PER_US, "args": {series: value}}
