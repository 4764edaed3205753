"""Steps and the average step of two traces side by side."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.units import NS_PER_US, whole_nanoseconds
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.student import moments
from torch_tb_profiler.views.compare.tables import (
    Measure,
    Pairing,
    Side,
    compared_table,
    pair_spec,
)
from torch_tb_profiler.views.overview.view import STEPS as STEPS_OF_ONE
from torch_tb_profiler.views.overview.view import steps_table
from torch_tb_profiler.views.schema import Column, Table

TOTAL = "Total"
CATEGORIES = {column.key: column.title for column in STEPS_OF_ONE.columns if column.unit == "us"}
"""Key of a category in the overview's steps → its name; the total first."""

_STEP_MEASURES = tuple(Measure(key, title, "us") for key, title in CATEGORIES.items())
_DURATION = (Measure("duration_us", "Duration", "us", sampled=True, bounded=True),)

STEPS = pair_spec(
    "steps",
    "Steps",
    "One row per step; the first of the baseline meets the first of the candidate, and so on, "
    "since numbers of steps differ between recordings.",
    keys=(
        Column("position", "Position", "integer", "count", "Place of the step, from 1."),
        Column("baseline_step", "Baseline Step", "string", None, "Number in the baseline."),
        Column("candidate_step", "Candidate Step", "string", None, "Number in the candidate."),
    ),
    measures=_STEP_MEASURES,
)

AVERAGE_STEP = pair_spec(
    "average_step",
    "Average step",
    "One row per category of the average step, and their total.",
    keys=(Column("category", "Category", "string", None, "What the time was spent on."),),
    measures=_DURATION,
)


def steps_frame(basis: StepBasis) -> Table:
    """The overview's step table of one side."""
    return steps_table(basis.trace, basis.selection)


def _values(frame: pl.DataFrame, key: str) -> Float64:
    values: Float64 = frame[key].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values


def compared_steps(baseline: Table, candidate: Table) -> Table:
    """The steps of both sides, by position."""
    sides = tuple(
        Side(
            table.frame.height,
            {key: _values(table.frame, key) for key in CATEGORIES},
            reasons=dict(table.null_reasons),
        )
        for table in (baseline, candidate)
    )
    count = max(side.rows for side in sides)
    places = [np.where(np.arange(count) < side.rows, np.arange(count), -1) for side in sides]
    names = [
        [*table.frame["step"].to_list(), *[None] * (count - table.frame.height)]
        for table in (baseline, candidate)
    ]
    keys = {
        "position": list(range(1, count + 1)),
        "baseline_step": names[0],
        "candidate_step": names[1],
    }
    pairing = Pairing(places[0], places[1], lone_is_zero=False)
    return compared_table(STEPS, keys, _STEP_MEASURES, sides=(sides[0], sides[1]), pairing=pairing)


def compared_average(baseline: Table, candidate: Table) -> Table:
    """The average step of both sides, by category; the variation is that between steps."""
    sides = tuple(_average(table) for table in (baseline, candidate))
    every = np.arange(len(CATEGORIES))
    keys = {"category": list(CATEGORIES.values())}
    return compared_table(
        AVERAGE_STEP, keys, _DURATION, sides=(sides[0], sides[1]), pairing=Pairing(every, every)
    )


def _average(table: Table) -> Side:
    values = np.array([_values(table.frame, key) for key in CATEGORIES])
    samples = moments(values)
    mean = samples.mean
    if samples.size:
        mean = whole_nanoseconds(values).sum(axis=1) / (samples.size * NS_PER_US)
    reasons = {"duration_us": next(iter(table.null_reasons.values()))} if table.null_reasons else {}
    return Side(len(CATEGORIES), {"duration_us": mean}, {"duration_us": samples}, reasons)
