"""The throughput of two runs side by side, and how sure a difference is.

Neighbouring steps are alike (caches, clocks, other programs), so single steps are no independent
observations. Blocks of steps are nearly so: of n steps in a row, blocks of √n, as batch means of
simulations are made (G. S. Fishman, "Grouping observations in digital simulation", Management
Science 24 (1978); size √n: J. M. Flegal, G. L. Jones, Annals of Statistics 38 (2010)).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.steps.throughput import (
    NOT_TIMED,
    US_PER_S,
    Spread,
    StepSet,
    timed_steps,
)
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.student import moments
from torch_tb_profiler.views.compare.tables import (
    Measure,
    Pairing,
    Side,
    compared_table,
    pair_spec,
)
from torch_tb_profiler.views.null_reasons import recorded_reason
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec

MEASURES = (
    Measure("mean_us", "Mean", "us", sampled=True, bounded=True),
    Measure("median_us", "Median", "us", sampled=True),
    Measure("rate_per_s", "Rate", "per_s", sampled=True),
)
COSTS = ("reader_cost", "batch_cost")
ROWS = (*COSTS, "steps_per_s", "samples_per_s")
NOT_OF_TIMERS = frozenset({"steps", "quality"})
"""Surroundings of what the profiler recorded: a timer saw the whole of both runs."""

NOT_PER_STEP = "A side lacks the data wait or the number of samples of some steps."


def _spec() -> TableSpec:
    spec = pair_spec(
        "throughput",
        "Throughput",
        "Training step times of a timer outside the profiler, over both whole runs: without "
        "warm-up, profiled steps and evaluation.",
        keys=(
            Column(
                "measure",
                "Measure",
                "string",
                None,
                "reader_cost: waiting for data per step; batch_cost: the whole step; steps_per_s "
                "and samples_per_s: rates.",
            ),
        ),
        measures=MEASURES,
        more=(
            Column("baseline_steps", "Baseline Steps", "integer", "count", "Number of steps used."),
            Column(
                "candidate_steps", "Candidate Steps", "integer", "count", "Number of steps used."
            ),
        ),
    )
    columns = tuple(
        replace(column, help=BLOCKS) if column.key.startswith("confidence_") else column
        for column in spec.columns
    )
    return replace(spec, columns=columns, when_empty=NOT_TIMED)


BLOCKS = (
    "Confidence that both sides differ: 100 × (1 − p) of Welch's t-test over means (medians) of "
    "blocks of √n of the n steps, because neighboring steps are correlated. Never 100."
)
THROUGHPUT = _spec()


def compared_throughput(baseline: Trace, candidate: Trace) -> Table:
    """The throughput of both sides; no row where neither was timed."""
    steps = tuple(_steps(trace) for trace in (baseline, candidate))
    is_timed = any(each is not None for each in steps)
    rows = np.arange(len(ROWS) if is_timed else 0)
    table = compared_table(
        THROUGHPUT,
        {"measure": [*ROWS][: len(rows)]},
        MEASURES,
        sides=(_side(steps[0], baseline), _side(steps[1], candidate)),
        pairing=Pairing(rows, rows, lone_is_zero=False),
    )
    counts = {
        f"{name}_steps": pl.lit(None if each is None else len(each), pl.Int64)
        for name, each in zip(("baseline", "candidate"), steps, strict=True)
    }
    return replace(table, frame=table.frame.with_columns(**counts))


def throughput_facts(table: Table) -> tuple[Fact, ...]:
    """The change of the batch cost, where both sides were timed."""
    rows = [row for row in table.frame.rows(named=True) if row["measure"] == "batch_cost"]
    if not rows or rows[0]["delta_mean_us"] is None:
        return ()
    sure = rows[0]["confidence_mean_pct"]
    return (
        Fact(
            "delta_batch_cost_us",
            "Change of the timed step",
            rows[0]["delta_mean_us"],
            "us",
            None,
            "Mean length of the candidate's timed steps minus that of the baseline's, outside "
            "the profiler's windows.",
        ),
        Fact(
            "confidence_batch_cost_pct",
            "Confidence of the timed step",
            sure,
            "pct",
            None,
            BLOCKS,
            None if sure is not None else table.null_reasons.get("confidence_mean_pct"),
        ),
    )


def _steps(trace: Trace) -> StepSet | None:
    timed = timed_steps(trace)
    return timed.train if timed is not None and len(timed.train) else None


def _side(steps: StepSet | None, trace: Trace) -> Side:
    keys = [measure.key for measure in MEASURES]
    if steps is None:
        blank, none = np.full(len(ROWS), np.nan), moments(np.empty((len(ROWS), 0)))
        reason = recorded_reason(trace, "throughput") or NOT_TIMED
        return Side(
            len(ROWS),
            dict.fromkeys(keys, blank),
            dict.fromkeys(keys, none),
            dict.fromkeys(keys, reason),
        )
    costs = (steps.reader_us, steps.duration_us)
    one = np.ones(len(steps))
    rates = ((one, steps.steps_per_s), (steps.samples, steps.samples_per_s))
    no_cost, no_rate = [_unknown(steps)] * len(COSTS), [_unknown(steps)] * len(rates)
    values = {
        "mean_us": [*map(np.mean, costs), np.nan, np.nan],
        "median_us": [*map(np.median, costs), np.nan, np.nan],
        "rate_per_s": [np.nan, np.nan, *(_mean(*rate) for rate in rates)],
    }
    samples = {
        "mean_us": [*(_of_blocks(each, np.mean) for each in costs), *no_rate],
        "median_us": [*(_of_blocks(each, np.median) for each in costs), *no_rate],
        "rate_per_s": [*no_cost, *(_rates(counts, steps.duration_us) for counts, _ in rates)],
    }
    is_silent = bool(np.isnan(steps.reader_us).any() or np.isnan(steps.samples).any())
    return Side(
        len(ROWS),
        {key: np.array(each, np.float64) for key, each in values.items()},
        {key: moments(np.array(each)) for key, each in samples.items()},
        dict.fromkeys(keys, NOT_PER_STEP) if is_silent else {},
    )


def _blocks(count: int) -> int:
    """How many blocks ``count`` steps are divided into, of about √count each."""
    return count // math.isqrt(count)


def _of_blocks(values: Float64, of_block: Callable[[Float64], float]) -> list[float]:
    return [float(of_block(block)) for block in np.array_split(values, _blocks(len(values)))]


def _rates(counts: Float64, duration_us: Float64) -> list[float]:
    sums = (_of_blocks(each, np.sum) for each in (counts, duration_us))
    return [count / us * US_PER_S if us else math.nan for count, us in zip(*sums, strict=True)]


def _unknown(steps: StepSet) -> list[float]:
    return [math.nan] * _blocks(len(steps))


def _mean(counts: Float64, spread: Spread | None) -> float:
    return math.nan if spread is None or np.isnan(counts).any() else spread.mean
