"""The clock of a GPU drops while it is busy."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, total
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.measured.throttling import (
    ThrottledClock,
    ThrottlingLimits,
    throttled_clock,
)
from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import GPU, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.sample_advice import urgent
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "throttled_clock"
STATED = {"gpu_throttled_heat", "gpu_throttled_hardware"}
"""Advice from samples that says the same with the driver's own reason."""

EVIDENCE = TableSpec(
    CODE,
    "GPUs with a throttled clock",
    "One row per GPU above the threshold.",
    (
        GPU,
        Column(
            "throttled_pct",
            "Throttled",
            "number",
            "pct",
            "Share of the busy time with a sampled clock in which the clock was throttled.",
        ),
        Column(
            "throttled_us_per_step",
            "Throttled per step",
            "number",
            "us",
            "Busy time per step at a throttled clock.",
        ),
        Column("reached_mhz", "Clock reached (MHz)", "number", None, "Highest clock under load."),
        Column(
            "throttled_mhz",
            "Throttled clock (MHz)",
            "number",
            None,
            "Mean clock in the throttled time.",
        ),
        Column("power_w", "Power (W)", "number", None, "Mean power in that time."),
        Column("power_limit_w", "Power limit (W)", "number", None, "Power limit in that time."),
        Column(
            "temperature_c",
            "Temperature (°C)",
            "number",
            None,
            "Highest temperature in that time.",
        ),
    ),
)
REASONS = dict.fromkeys(("power_w", "power_limit_w", "temperature_c"), "It was not sampled.")


def detect(context: Context) -> Finding | None:
    """While a GPU is busy its SM clock is lower than it was before under load, for more of the
    busy time than the threshold; nothing where the driver's own reasons say so already, or where
    little of the step is at stake.

    A clock that rises at the start of a time under load is none, nor is one of an idle GPU. How
    much shorter the kernels would be at the higher clock depends on what limits them, so no gain is
    estimated; at stake is what the lower clock costs if the clock is all that counts.
    """
    known = entry(CODE)
    limits = ThrottlingLimits(*(known.parameters[key] for key in ThrottlingLimits._fields))
    rows, clocks = [], []
    for gpu, profile in sorted(gpu_profiles(context.trace).items()):
        busy = context.within_steps(profile.busy)
        clock = throttled_clock(context.trace, gpu, busy, limits)
        if clock is None or 100 * total(clock.throttled) <= known.threshold * clock.busy_ns:
            continue
        at_stake_pct = context.share_pct(_at_stake_ns(context, clock))
        if at_stake_pct >= known.parameters["min_step_share_pct"]:
            rows.append(_row(context, gpu, clock))
            clocks.append(clock)
    if not rows or any(note.code in STATED for note in urgent(context.trace, context.selection)):
        return None
    worst = max(range(len(rows)), key=lambda row: float(rows[row]["throttled_pct"] or 0))
    clock = clocks[worst]
    return Finding(
        CODE,
        float(rows[worst]["throttled_pct"] or 0),
        None,
        variant="default" if clock.cause == "unknown" else clock.cause,
        values={
            "gpus": gpu_list([int(row["gpu"] or 0) for row in rows]),
            "clock": f"{clock.throttled_mhz:,.0f}",
            "reached": f"{clock.reached_mhz:,.0f}",
            "state": _state(clock),
        },
        evidence=build_table(EVIDENCE, pl.DataFrame(rows, infer_schema_length=None), REASONS),
        source={
            "view": "resources",
            "table": "summary",
            "filter": "metric~clock",
            "sort": "source,metric",
        },
        architecture=context.architecture_name,
        time=clock.throttled,
        spot=context.spot(*_longest(clock.throttled)),
        at_stake_us=_at_stake_ns(context, clock) / NS_PER_US,
    )


def _at_stake_ns(context: Context, clock: ThrottledClock) -> float:
    """Time per step that the lower clock costs if the clock is all that counts."""
    lost = 1 - clock.throttled_mhz / clock.reached_mhz
    return context.per_step(total(clock.throttled) * lost)


def _row(context: Context, gpu: int, clock: ThrottledClock) -> dict[str, float | None]:
    throttled_ns = total(clock.throttled)
    return {
        "gpu": gpu,
        "throttled_pct": 100 * throttled_ns / clock.busy_ns,
        "throttled_us_per_step": context.per_step(throttled_ns) / NS_PER_US,
        "reached_mhz": clock.reached_mhz,
        "throttled_mhz": clock.throttled_mhz,
        "power_w": clock.power_w,
        "power_limit_w": clock.power_limit_w,
        "temperature_c": clock.temperature_c,
    }


def _state(clock: ThrottledClock) -> str:
    """``"312 W of 400 W, at most 71 °C"``; what was sampled."""
    parts = []
    if clock.power_w is not None:
        limit = "" if clock.power_limit_w is None else f" of {clock.power_limit_w:.0f} W"
        parts.append(f"{clock.power_w:.0f} W{limit}")
    if clock.temperature_c is not None:
        parts.append(f"at most {clock.temperature_c:.0f} °C")
    return ", ".join(parts) or "power and temperature were not sampled"


def _longest(intervals: Intervals) -> tuple[int, int]:
    row = int((intervals.end_ns - intervals.start_ns).argmax())
    return int(intervals.start_ns[row]), int(intervals.end_ns[row])
