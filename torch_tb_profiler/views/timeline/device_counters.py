"""Counters of what devices do: utilization, est. SM efficiency, copies, and launches that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import Intervals, WeightProfile
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.kernels.copy_rates import copy_rates
from torch_tb_profiler.analysis.kernels.launches.streams import busiest_queues
from torch_tb_profiler.analysis.recording.device_terms import device_word
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.curves import Curve, MeanCurve, StepCurve
from torch_tb_profiler.views.timeline.tracks import (
    Counter,
    Group,
    TimelineTrack,
    Unit,
    device_titles,
    group_of_row,
)

MAX_QUEUES = 8
"""Streams of one device whose queues are drawn."""


class CounterTitle(NamedTuple):
    """What a counter is called, what it means, and its unit; None for plain numbers."""

    title: str
    help: str | None
    unit: Unit | None


_UTILIZATION = CounterTitle(
    "GPU utilization", "Share of time in which at least one kernel ran.", "pct"
)
_EFFICIENCY = CounterTitle(
    "Est. SM efficiency",
    "Estimated: mean blocks per SM of the running kernels, capped at 1.",
    "pct",
)
_WAITING = (
    "Launched device work that has not started, from the start of the launching call to the "
    "start of the work. Work without a recorded launch is left out."
)
_QUEUE = CounterTitle("Launch queue length", _WAITING, "count")

_DIRECTIONS = {
    "HtoD": "Host-to-device copies",
    "DtoH": "Device-to-host copies",
    "DtoD": "Copies within the device",
    "PtoP": "Copies between devices",
    "HtoH": "Host-to-host copies",
}
_RATE = (
    "Bandwidth: bytes of the running copies over their durations; copies side by side add up. "
    "Copies without a recorded size are left out."
)


def counter(key: str, what: CounterTitle, group: Group, curve: Curve) -> Counter:
    """A counter track with its curve."""
    track = TimelineTrack(
        key,
        what.title,
        kind="counter",
        group=group.key,
        help=what.help,
        lanes=1,
        unit=what.unit,
    )
    return Counter(replace(track, device=group.device), group, curve)


def device_group(trace: Trace, device: int) -> Group:
    """The heading of a device."""
    row: dict[str, object] = {"is_device": True, "device": device}
    return group_of_row(row, device_titles(trace))


def work_counters(trace: Trace) -> tuple[list[Counter], int]:
    """The counters of all devices that ran work, those of one device together, and how many queues
    of streams are left out."""
    queues, left_out = busiest_queues(trace, MAX_QUEUES)
    listed = []
    utilization = _UTILIZATION._replace(title=f"{device_word(trace)} utilization")
    origin = trace.meta.start_ns
    for device, profile in gpu_profiles(trace).items():
        group = device_group(trace, device)
        busy = _busy_curve(profile.busy, origin)
        listed.append(counter(f"d{device}.utilization", utilization, group, busy))
        if profile.filled is not None:
            edges, level = profile.filled.levels()
            curve = MeanCurve.of_levels(edges - origin, level * 100)
            key = f"d{device}.efficiency"
            listed.append(counter(key, _EFFICIENCY, group, curve))
        listed += _copies(trace, group, device)
        queue = _queue_curve(trace, device)
        if queue is not None:
            listed.append(counter(f"d{device}.queue", _QUEUE, group, queue))
        waits = {each.stream: queue for each, queue in queues if each.device == device}
        if len(waits) > 1:  # one alone is that of the device
            for number, (stream, profile_of_stream) in enumerate(waits.items()):
                what = CounterTitle(f"Launch queue, stream {stream}", _WAITING, "count")
                curve_of_stream = _level_curve(profile_of_stream, origin)
                listed.append(counter(f"d{device}.queue.{number}", what, group, curve_of_stream))
    return listed, left_out


def _copies(trace: Trace, group: Group, device: int) -> Iterator[Counter]:
    for number, rate in enumerate(copy_rates(trace)):
        if rate.device == device:
            title = _DIRECTIONS.get(rate.direction or "", "Copies of unknown direction")
            what = CounterTitle(title, _RATE, "gb_per_s")
            curve = _level_curve(rate.gb_per_s, trace.meta.start_ns)
            yield counter(f"d{device}.copies.{number}", what, group, curve)


def _level_curve(profile: WeightProfile, origin_ns: int) -> StepCurve:
    """A profile, 0 from the start of the trace on until it first changes."""
    edges, level = profile.levels()
    edges = edges - origin_ns
    if len(edges) and edges[0] > 0:
        edges, level = np.append(0, edges), np.append(0.0, level)
    return StepCurve(edges, level.astype(np.float64))


def _busy_curve(busy: Intervals, origin_ns: int) -> MeanCurve:
    edges = np.column_stack(busy).reshape(-1) - origin_ns
    return MeanCurve.of_levels(edges, np.tile((100.0, 0.0), len(busy.start_ns)))


def _queue_curve(trace: Trace, device: int) -> StepCurve | None:
    work = trace.device_work.filter(
        (pl.col("device") == device) & pl.col("launch").is_not_null()
    ).select("launch", "start_ns")
    launched = trace.slices["start_ns"].gather(work["launch"]).to_numpy()
    begun = work["start_ns"].to_numpy()
    waits = begun > launched
    if not waits.any():
        return None
    return StepCurve.of_ranges(
        launched[waits] - trace.meta.start_ns, begun[waits] - trace.meta.start_ns
    )
