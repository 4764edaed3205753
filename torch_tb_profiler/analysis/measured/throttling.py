"""Clocks that drop while a device is busy, and what the samples say of the cause.

Definitions: ``docs/advice.md#a-throttled-clock``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    total,
    total_within,
    union,
)
from torch_tb_profiler.analysis.measured.signals import Signal, window_sums
from torch_tb_profiler.analysis.measured.work import signals_of_role
from torch_tb_profiler.knowledge.device_counters import counter_file
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace

Cause = Literal["power", "heat", "hardware", "unknown"]

_STATED: tuple[tuple[str, Cause], ...] = (
    ("throttled_heat", "heat"),
    ("throttled_hardware", "hardware"),
    ("throttled_power", "power"),
)
"""Roles by which the driver itself says why, and the cause."""


class ThrottlingLimits(NamedTuple):
    """What counts as throttled, and as a limit.

    Attributes:
        drop_pct: How far below the clock reached earlier a throttled clock is, at least.
        at_limit_pct: From which share of its limit on the power is at it.
        hot_c: From which mean temperature in °C on heat is the cause.
        stated_pct: In which share of the throttled time the driver must state a cause.
    """

    drop_pct: float
    at_limit_pct: float
    hot_c: float
    stated_pct: float


class ThrottledClock(NamedTuple):
    """The clock of one device under load.

    Attributes:
        throttled: When the device was busy at a throttled clock.
        busy_ns: Busy time in which its clock was sampled.
        reached_mhz: The highest clock under load.
        throttled_mhz: Mean clock in the throttled time.
        cause: What the samples of that time say: a limit that was met, else unknown.
        power_w: Mean power in the throttled time; None where it was not sampled.
        power_limit_w: The power limit likewise.
        temperature_c: The highest temperature likewise.
    """

    throttled: Intervals
    busy_ns: int
    reached_mhz: float
    throttled_mhz: float
    cause: Cause
    power_w: float | None
    power_limit_w: float | None
    temperature_c: float | None


def throttled_clock(
    trace: Trace, device: int, busy: Intervals, limits: ThrottlingLimits
) -> ThrottledClock | None:
    """The throttled time of a device; None where its clock was not sampled under load, or did not
    drop.

    Args:
        trace: The trace.
        device: Number of the device.
        busy: When it ran kernels.
        limits: What counts.
    """
    clock = signals_of_role(trace, "sm_clock").get(device)
    if clock is None:
        return None
    inside = total_within(busy, clock.start_ns, clock.end_ns)
    is_loaded = 100 * inside >= counter_file().fill_pct * (clock.end_ns - clock.start_ns)
    is_steady = is_loaded & ~_is_ramp(clock.value, is_loaded)
    reached = np.maximum.accumulate(np.where(is_loaded, clock.value, 0.0))
    low = is_steady & (clock.value < reached * (1 - limits.drop_pct / 100))
    if not low.any():
        return None
    throttled = intersect(busy, union(clock.start_ns[low], clock.end_ns[low]))
    weight = inside[low].astype(np.float64)
    power = _mean_within(trace, "power", device, throttled)
    limit = _mean_within(trace, "power_limit", device, throttled)
    heat = _mean_within(trace, "temperature", device, throttled)
    return ThrottledClock(
        throttled,
        int(inside.sum()),
        float(reached.max()),
        float(np.average(clock.value[low], weights=weight)),
        _cause(trace, device, throttled, limits, (power, limit, heat)),
        power,
        limit,
        _highest_within(trace, "temperature", device, throttled),
    )


def _is_ramp(value: Float64, is_loaded: Bools) -> Bools:
    """Which samples at the start of a time under load come before a higher one: clocks rise then,
    as devices lower them while idle."""
    begins = is_loaded & ~np.append(False, is_loaded[:-1])
    rises = np.append(value[1:] > value[:-1], False) & np.append(is_loaded[1:], False)
    run = np.cumsum(begins)
    ended = np.cumsum(is_loaded & ~rises)
    before = np.append(0, ended)[:-1]
    at_begin = np.append(0, before[begins])[run]
    is_ramp: Bools = is_loaded & rises & (before == at_begin)
    return is_ramp


def _cause(
    trace: Trace,
    device: int,
    throttled: Intervals,
    limits: ThrottlingLimits,
    sampled: tuple[float | None, float | None, float | None],
) -> Cause:
    """What the driver states in most of the time, else a limit that was met."""
    for role, cause in _STATED:
        stated = _mean_within(trace, role, device, throttled)
        if stated is not None and stated >= limits.stated_pct:
            return cause
    power, limit, heat = sampled
    if heat is not None and heat >= limits.hot_c:
        return "heat"
    if power is not None and limit and 100 * power >= limits.at_limit_pct * limit:
        return "power"
    return "unknown"


def _mean_within(trace: Trace, role: str, device: int, when: Intervals) -> float | None:
    signal = signals_of_role(trace, role).get(device)
    if signal is None or not total(when):
        return None
    sums = window_sums(signal, when.start_ns, when.end_ns)
    covered = int(sums.covered_ns.sum())
    return float(sums.integral.sum()) / covered if covered else None


def _highest_within(trace: Trace, role: str, device: int, when: Intervals) -> float | None:
    signal: Signal | None = signals_of_role(trace, role).get(device)
    if signal is None:
        return None
    inside = total_within(when, signal.start_ns, signal.end_ns) > 0
    return float(signal.value[inside].max()) if inside.any() else None
