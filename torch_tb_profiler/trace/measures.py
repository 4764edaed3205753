"""What a profiler writes beside kernels and cannot be true: no measurement.

Definitions: ``docs/metrics.md#gpus``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.quality import QualityReport

MOST_WARPS_PER_SM = 64
"""Of any device so far; with fewer the same warps fill a larger share."""

ROUNDED_AWAY_PCT = 1.0
"""Occupancies are written as whole numbers: below this, 0 may be rounding."""

MOST_BLOCKS_PER_SM = 1e12

MEASURES = ("blocks_per_sm", "est_achieved_occupancy_pct")


def without_impossible(work: pl.DataFrame, quality: QualityReport) -> pl.DataFrame:
    """``device_work`` with null for blocks per multiprocessor and occupancies that cannot be: not
    finite, negative, beyond what there is, or occupancy 0 of a kernel whose warps alone make more
    than rounding takes away. ``quality`` counts the kernels."""
    blocks, occupancy, warps = (pl.col(key) for key in (*MEASURES, "warps_per_sm"))
    filled = warps.is_finite() & (warps / MOST_WARPS_PER_SM * 100 >= ROUNDED_AWAY_PCT)
    possible = {
        "blocks_per_sm": blocks.is_between(0, MOST_BLOCKS_PER_SM),
        "est_achieved_occupancy_pct": occupancy.is_between(0, 100)
        & ~((occupancy == 0) & filled.fill_null(False)),
    }
    checked = work.with_columns(
        pl.when(is_possible).then(pl.col(key)).alias(key) for key, is_possible in possible.items()
    )
    lost = pl.any_horizontal(work[key].is_not_null() & checked[key].is_null() for key in MEASURES)
    quality.add("impossible_measure", int(work.select(lost.sum()).item()))
    return checked
