"""The answer of a comparison in a few numbers: the change of the step, then the largest parts."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.views.compare.average import CATEGORIES, TOTAL
from torch_tb_profiler.views.compare.tables import FEW_STEPS, NO_BASE
from torch_tb_profiler.views.schema import Fact, Table

NO_STEP = "One side has no step in the selection."
NO_DIFFERENCE = "All categories of the average step are equal."
LEADING = ("delta_total_us", "delta_total_pct", "confidence_total_pct")
"""What stands before everything else."""

_KEY_OF = {title: key for key, title in CATEGORIES.items()}


def comparison_facts(average: Table, steps: tuple[int, int], per_step: bool) -> tuple[Fact, ...]:
    """Facts of a comparison.

    Args:
        average: The compared average step.
        steps: Steps of the baseline and of the candidate.
        per_step: Whether values of the tables are per step.
    """
    rows = {row["category"]: row for row in average.frame.iter_rows(named=True)}
    parts = average.frame.filter(pl.col("category") != TOTAL).drop_nulls("delta_duration_us")
    changed = parts.filter(pl.col("delta_duration_us") != 0).sort(
        pl.col("delta_duration_us").abs(), descending=True, maintain_order=True
    )
    names: list[str] = changed["category"].to_list()
    no_value = NO_DIFFERENCE
    if parts.is_empty():
        unknown = average.null_reasons.get("delta_duration_us", NO_STEP)
        no_value = unknown if all(steps) else NO_STEP
    return (
        *_total_facts(average, rows[TOTAL]),
        Fact(
            "largest_change",
            "Largest change",
            names[0] if names else None,
            None,
            None,
            "Category of the average step that changed most, in µs per step.",
            None if names else no_value,
        ),
        *(_change(name, rows[name]["delta_duration_us"]) for name in names),
        *_count_facts(steps, per_step),
    )


def _total_facts(average: Table, total: dict[str, Any]) -> tuple[Fact, ...]:
    """What changed in the length of the average step, and how sure that is."""
    delta_us, share = total["delta_duration_us"], total["delta_duration_pct"]
    sure = total["confidence_duration_pct"]
    unsure = average.null_reasons.get("confidence_duration_pct", FEW_STEPS)
    if unsure.endswith(FEW_STEPS):
        unsure = FEW_STEPS  # what stands before it is of categories that a side does not know
    return (
        Fact(
            "delta_total_us",
            "Change of the average step",
            delta_us,
            "us",
            None,
            "Length of the candidate's average step minus that of the baseline.",
            None if delta_us is not None else NO_STEP,
        ),
        Fact(
            "delta_total_pct",
            "Change in percent",
            share,
            "pct",
            None,
            "Change in percent of the baseline's average step.",
            None if share is not None else NO_STEP if delta_us is None else NO_BASE,
        ),
        Fact(
            "confidence_total_pct",
            "Significance",
            sure,
            "pct",
            None,
            "Whether the average steps differ by more than steps vary: Welch's t-test over "
            "steps; significant if p ≤ 0.05.",
            None if sure is not None else unsure,
        ),
    )


def _count_facts(steps: tuple[int, int], per_step: bool) -> tuple[Fact, ...]:
    return (
        Fact(
            "baseline_steps", "Baseline steps", steps[0], "count", None, "Number of averaged steps."
        ),
        Fact(
            "candidate_steps",
            "Candidate steps",
            steps[1],
            "count",
            None,
            "Number of averaged steps.",
        ),
        Fact(
            "values_per_step",
            "Tables hold values per step",
            per_step,
            None,
            None,
            "Yes: table values are divided by the number of steps of their side. No: they are "
            "totals of the selection.",
        ),
    )


def _change(category: str, delta_us: float) -> Fact:
    return Fact(
        f"delta_{_KEY_OF[category]}",
        f"Change of {category}",
        delta_us,
        "us",
        category,
        "Time of this category in the candidate's average step minus that in the baseline's.",
    )
