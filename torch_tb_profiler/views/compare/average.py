"""Steps and the average step of two traces side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES, Role
from torch_tb_profiler.analysis.steps.costs import role_costs, unknown_roles
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.student import moments
from torch_tb_profiler.views.compare.tables import (
    SHARE,
    Measure,
    Pairing,
    Side,
    compared_table,
    pair_spec,
)
from torch_tb_profiler.views.schema import Column, Table

TOTAL = "Total"
CATEGORIES = {"total_us": TOTAL, **{f"{role.name.lower()}_us": ROLE_TITLES[role] for role in Role}}
"""Key of a category in the overview's steps → its name; the total first."""

_STEP_MEASURES = tuple(Measure(key, title, "us") for key, title in CATEGORIES.items())
_DURATION = (Measure("duration_us", "Duration", "us", sampled=True, bounded=True),)

STEPS = pair_spec(
    "steps",
    "Steps",
    "One row per pair of steps. Steps are paired by position, because step numbers differ "
    "between recordings.",
    keys=(
        Column("position", "Position", "integer", "count", "Position of the step, from 1."),
        Column("baseline_step", "Baseline Step", "string", None, "Number in the baseline."),
        Column("candidate_step", "Candidate Step", "string", None, "Number in the candidate."),
    ),
    measures=_STEP_MEASURES,
)

AVERAGE_STEP = pair_spec(
    "average_step",
    "Average step",
    "One row per category of the average step, and the total.",
    keys=(Column("category", "Category", "string", None, "Category of the time."),),
    measures=_DURATION,
    more=(SHARE,),
)


class StepTimes(Struct, frozen=True, eq=False):
    """The steps of one side.

    Attributes:
        names: Name of each.
        times_ns: Time by category (row, as :data:`CATEGORIES`) and step (column).
        averaged: Mask of the steps that the average step is over.
        is_observed: Whether those are whole steps.
        unknown: Key of a category → why the trace says nothing about it.
    """

    names: list[str]
    times_ns: Int64
    averaged: Bools
    is_observed: bool
    unknown: dict[str, str]


def step_times(basis: StepBasis) -> StepTimes:
    """What the steps of one side were spent on."""
    windows = step_windows(basis.trace, basis.selection)
    costs = role_costs(basis.trace, windows).T
    unknown = unknown_roles(basis.trace) if windows.names else {}
    keys = list(CATEGORIES)[1:]
    return StepTimes(
        windows.names,
        np.vstack((windows.end_ns - windows.start_ns, costs)),
        windows.averaged,
        bool(windows.whole.any()),
        {keys[role]: reason for role, reason in unknown.items()},
    )


def compared_steps(baseline: StepTimes, candidate: StepTimes) -> Table:
    """The steps of both sides, by position."""
    sides = (_each_step(baseline), _each_step(candidate))
    count = max(side.rows for side in sides)
    rows = [np.where(np.arange(count) < side.rows, np.arange(count), -1) for side in sides]
    names = [
        [*steps.names, *[None] * (count - len(steps.names))] for steps in (baseline, candidate)
    ]
    keys: dict[str, list[Any]] = {
        "position": list(range(1, count + 1)),
        "baseline_step": names[0],
        "candidate_step": names[1],
    }
    pairing = Pairing(rows[0], rows[1], lone_is_zero=False)
    return compared_table(STEPS, keys, _STEP_MEASURES, sides=sides, pairing=pairing)


def _each_step(steps: StepTimes) -> Side:
    values = dict(zip(CATEGORIES, _known_us(steps), strict=True))
    return Side(len(steps.names), values, reasons=steps.unknown)


def _known_us(steps: StepTimes) -> Float64:
    """``times_ns`` in µs, NaN for what is unknown."""
    known = [[key not in steps.unknown] for key in CATEGORIES]
    return np.where(known, steps.times_ns / NS_PER_US, np.nan)


def compared_average(baseline: StepTimes, candidate: StepTimes) -> Table:
    """The average step of both sides, by category; the variation is that between steps."""
    every = np.arange(len(CATEGORIES))
    keys = {"category": list(CATEGORIES.values())}
    sides = (_average(baseline), _average(candidate))
    return compared_table(AVERAGE_STEP, keys, _DURATION, sides=sides, pairing=Pairing(every, every))


def _average(steps: StepTimes) -> Side:
    values = _known_us(steps)[:, steps.averaged]
    count = values.shape[1]
    samples = moments(values if steps.is_observed else values[:, :0])
    mean = np.full(len(CATEGORIES), np.nan)
    if count:
        # Sums of whole nanoseconds, divided once.
        sums = steps.times_ns[:, steps.averaged].sum(axis=1) / (count * NS_PER_US)
        mean = np.where(np.isnan(values).any(axis=1), np.nan, sums)
    reason = " ".join(dict.fromkeys(steps.unknown.values())) or None
    reasons = {} if reason is None else {"duration_us": reason}
    return Side(len(CATEGORIES), {"duration_us": mean}, {"duration_us": samples}, reasons)
