"""The throughput of a run measured by a timer: a table, a few facts, and the curve of step times.

Definitions: ``docs/metrics.md#throughput``. It is of the whole run, whatever is selected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.steps.throughput import (
    NOT_TIMED,
    Spread,
    StepSet,
    TimedSteps,
    timed_steps,
)
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed, recorded_reason
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, Fact, Line, Series, Table, TableSpec

TRAIN, EVALUATION, TRACED = "training", "evaluation", "training under the profiler"
MEASURES = ("reader_cost", "batch_cost", "steps_per_s", "samples_per_s")
UNITS = {"reader_cost": "us", "batch_cost": "us", "steps_per_s": "1/s", "samples_per_s": "1/s"}
_STATISTICS = ("mean", "max", "min", "median", "p95")
MIN_STEPS = 3
"""Steps with and without the profiler needed to estimate its overhead."""

MAX_POINTS = 1000
"""Points of a curve; with more steps, several consecutive steps are one point."""

MAX_STRETCHES = 100
"""With more interruptions by other steps, a line is not broken."""

NO_WAITS = "The time that steps waited for data was not recorded."
NO_SAMPLES = "The batch size was not recorded."
NO_TIME = "The steps have no duration."
NO_WARMUP = "Warm-up steps were not marked; none is left out."


def _statistic(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", None, f"{text} In the unit of the row.")


THROUGHPUT = TableSpec(
    "throughput",
    "Throughput",
    "Step times measured by a timer outside the profiler, over the whole run: warm-up is left "
    "out; steps under the profiler and evaluation steps are listed separately.",
    (
        Column("steps_of", "Steps of", "string", None, "Kind of steps."),
        Column(
            "measure",
            "Measure",
            "string",
            None,
            "reader_cost: wait for data per step; batch_cost: step time; steps and samples per "
            "second.",
        ),
        Column("unit", "Unit", "string", None, "us: microseconds; 1/s: per second."),
        _statistic(
            "mean",
            "Mean",
            "Mean over the steps; for a rate the total count divided by the total time.",
        ),
        _statistic("max", "Max", "Largest value of any step."),
        _statistic("min", "Min", "Smallest value of any step."),
        _statistic("median", "Median", "Half of the steps are below it."),
        _statistic("p95", "95th Percentile", "95 % of the steps are below."),
        Column("steps", "Steps", "integer", "count", "Number of timed steps."),
    ),
    when_empty=NOT_TIMED,
)


def throughput_table(trace: Trace) -> Table:
    """A row per measure of each kind of steps; empty where nothing timed them."""
    timed = timed_steps(trace)
    rows = [] if timed is None else [*_rows(timed)]
    frame = pl.DataFrame(rows, schema=THROUGHPUT.polars_schema(), orient="row")
    return Table(THROUGHPUT, frame, needed(frame, dict.fromkeys(_STATISTICS, NO_WAITS)))


def _rows(timed: TimedSteps) -> Iterator[tuple[object, ...]]:
    for name, steps in (
        (TRAIN, timed.train),
        (TRACED, timed.traced),
        (EVALUATION, timed.evaluation),
    ):
        if not len(steps):
            continue
        spreads: dict[str, Spread | None] = {
            "reader_cost": steps.reader_cost_us,
            "batch_cost": steps.batch_cost_us,
            "steps_per_s": steps.steps_per_s,
            "samples_per_s": steps.samples_per_s,
        }
        for measure in MEASURES:
            spread = spreads[measure]
            values = [None if spread is None else getattr(spread, key) for key in _STATISTICS]
            if spread is not None or measure == "reader_cost":
                yield name, measure, UNITS[measure], *values, len(steps)


def throughput_facts(trace: Trace) -> tuple[Fact, ...]:
    """The figures of training outside of the profiler's windows."""
    timed = timed_steps(trace)
    steps = None if timed is None else timed.train
    why = _why_none(trace, timed)
    rate, samples = (None, None) if steps is None else (steps.steps_per_s, steps.samples_per_s)
    ratio = None if steps is None else steps.reader_ratio_pct
    return (
        Fact(
            "steps_per_s",
            "Steps per second",
            None if rate is None else rate.mean,
            "per_s",
            None,
            "Timed training steps divided by their summed time; without warm-up, evaluation, and "
            "steps under the profiler.",
            None if rate is not None else why or NO_TIME,
        ),
        Fact(
            "samples_per_s",
            "Samples per second",
            None if samples is None else samples.mean,
            "per_s",
            None,
            "Samples of these steps divided by their summed time.",
            None if samples is not None else why or NO_SAMPLES,
        ),
        Fact(
            "reader_ratio_pct",
            "Reader ratio",
            ratio,
            "pct",
            None,
            "Time waiting for data as share of the time of these steps.",
            None if ratio is not None else why or NO_WAITS,
        ),
        _overhead(trace, timed),
        _warmup(trace, timed),
    )


def _why_none(trace: Trace, timed: TimedSteps | None) -> str | None:
    if timed is None:
        return recorded_reason(trace, "throughput") or NOT_TIMED
    if not len(timed.train):
        return "No training step was timed after warm-up and outside the profiler's windows."
    return None


def _overhead(trace: Trace, timed: TimedSteps | None) -> Fact:
    value, reason = None, _why_none(trace, None)
    if timed is not None:
        traced, train = timed.traced, timed.train
        slow, usual = traced.batch_cost_us, train.batch_cost_us
        if min(len(traced), len(train)) < MIN_STEPS or slow is None or usual is None:
            reason = (
                f"Not enough data: {MIN_STEPS} steps with and {MIN_STEPS} without the profiler "
                f"are needed; there are {len(traced)} and {len(train)}."
            )
        elif not usual.median:
            reason = NO_TIME
        else:
            value, reason = _slower(slow, len(traced), usual, len(train))
    return Fact(
        "profiler_overhead_pct",
        "Profiler overhead",
        value,
        "pct",
        None,
        "How much longer the median step under the profiler is than the median step without it.",
        reason,
    )


def _slower(
    slow: Spread, slow_steps: int, usual: Spread, steps: int
) -> tuple[float | None, str | None]:
    """By how many percent the median is higher, where steps do not vary more than that."""
    errors = slow.median_error(slow_steps), usual.median_error(steps)
    if slow.median - usual.median > math.hypot(*errors):
        return 100 * (slow.median / usual.median - 1), None
    medians = (
        f"{duration_text(spread.median)} ± {duration_text(error)}"
        for spread, error in zip((slow, usual), errors, strict=True)
    )
    return (
        None,
        "Not significant: the variation of the steps exceeds the difference of the medians, "
        f"{' with the profiler, '.join(medians)} without.",
    )


def _warmup(trace: Trace, timed: TimedSteps | None) -> Fact:
    known = timed is not None and timed.knows_warmup
    return Fact(
        "warmup_steps",
        "Warm-up steps left out",
        timed.warmup_steps if timed is not None and known else None,
        "count",
        None,
        "Training steps at the start that are excluded from the throughput figures.",
        None if known else _why_none(trace, None) if timed is None else NO_WARMUP,
    )


def step_curve(trace: Trace) -> dict[str, Series]:
    """The times of all timed steps over the run; nothing where there are none."""
    timed = timed_steps(trace)
    if timed is None:
        return {}
    parts = (timed.warmup, timed.train, timed.traced, timed.evaluation)
    origin_us = min(part.start_us[0] for part in parts if len(part))
    every = -(-sum(map(len, parts)) // MAX_POINTS)
    names = ("warm-up", TRAIN, TRACED, EVALUATION)
    lines = [
        line
        for name, part in zip(names, parts, strict=True)
        for line in _lines(name, part, parts, origin_us, every)
    ]
    return {
        "timed_steps": Series(
            "Step time over the run",
            "stair",
            "Time since the first timed step",
            "us",
            "Step time",
            "us",
            tuple(lines),
        )
    }


def _lines(
    name: str, part: StepSet, parts: tuple[StepSet, ...], origin_us: float, every: int
) -> Iterator[Line]:
    """The line of steps of one kind, broken where others come between; several in a row are one
    point where there are too many, and then their slowest is a line too."""
    if not len(part):
        return
    others = np.sort(np.concatenate([each.start_us for each in parts if each is not part]))
    stretch = np.searchsorted(others, part.start_us)
    if len(distinct_values(stretch)) > MAX_STRETCHES:
        stretch = np.zeros_like(stretch)
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    within = np.arange(len(part)) - np.repeat(begins, np.diff(np.append(begins, len(part))))
    first = np.flatnonzero(within % every == 0)
    counts = np.diff(np.append(first, len(part)))
    x = part.start_us[first] - origin_us
    ends = (part.start_us + part.duration_us)[np.append(first[1:], len(part)) - 1] - origin_us
    is_last = np.append(np.diff(stretch[first]) > 0, True)
    mean = np.add.reduceat(part.duration_us, first) / counts
    yield _line(name if every == 1 else f"{name}, mean of {every} steps", x, ends, is_last, mean)
    if every > 1:
        slowest = np.maximum.reduceat(part.duration_us, first)
        yield _line(f"{name}, slowest of {every} steps", x, ends, is_last, slowest)


def _line(name: str, x: Float64, ends: Float64, is_last: Bools, y: Float64) -> Line:
    """Each value holds until the next; behind the last of a stretch the line ends."""
    xs: list[float] = []
    ys: list[float | None] = []
    for at, end, last, value in zip(x, ends, is_last, y, strict=True):
        xs.append(float(at))
        ys.append(float(value))
        if last:
            xs += [float(end)] * 2
            ys += [float(value), None]
    return Line(name, xs, ys)
