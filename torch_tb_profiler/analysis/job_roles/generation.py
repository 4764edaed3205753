"""How far apart the ranks of a rollout finish: its long tail.

Definitions: ``docs/views-roles.md#definitions``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.job_roles.assignment import ROLLOUT

GENERATIONS = {
    "generation": pl.Int64,  # from 1
    "workers": pl.Int64,
    "start_ns": pl.Int64,  # of the first rank
    "first_end_ns": pl.Int64,  # end of the work of the rank that finishes first
    "median_end_ns": pl.Int64,
    "last_end_ns": pl.Int64,
    "last_worker": pl.Int64,
    "idle_ns": pl.Int64,  # of the others together, from their end to the last
}

DIFFERENT_COUNTS = (
    "The ranks record different numbers of generations, so which belong together is unknown."
)
NO_RANGES = "No ranges around generations (such as generate_sequences) are recorded."


def generations(periods: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """One row per generation that several ranks made together, as :data:`GENERATIONS`; else none,
    and why.

    Args:
        periods: :func:`~torch_tb_profiler.analysis.job_roles.times.period_times`. The nth range of
            each rank belongs to the nth generation.
    """
    ranges = periods.filter(
        pl.col("role") == ROLLOUT,
        pl.col("calls").is_not_null(),
        pl.col("busy_end_ns").is_not_null(),
    )
    counts = ranges.group_by("worker").len()["len"]
    if not len(counts):
        return pl.DataFrame(schema=GENERATIONS), NO_RANGES
    if len(counts) < 2:
        return pl.DataFrame(schema=GENERATIONS), "Only one rank records generations."
    if counts.n_unique() > 1:
        return pl.DataFrame(schema=GENERATIONS), DIFFERENT_COUNTS
    end = pl.col("busy_end_ns")
    frame = (
        ranges.sort("worker", "start_ns")
        .with_columns(generation=pl.int_range(1, pl.len() + 1).over("worker"))
        .group_by("generation")
        .agg(
            workers=pl.len(),
            start_ns=pl.col("start_ns").min(),
            first_end_ns=end.min(),
            median_end_ns=end.median(),
            last_end_ns=end.max(),
            last_worker=pl.col("worker").get(end.arg_max()),
            idle_ns=(end.max() - end).sum(),
        )
        .sort("generation")
    )
    return frame.select(pl.col(key).cast(dtype) for key, dtype in GENERATIONS.items()), None
