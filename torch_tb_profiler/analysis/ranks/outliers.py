"""Which ranks stand out in which measure, by robust statistics.

The deviation of a rank is from the median of its peers: the ranks of its pipeline stage where the
job has stages, else all ranks. Definitions and thresholds: ``knowledge/rank_measures.toml``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.knowledge.rank_measures import RankMeasure, rank_measures_file

_NORMAL = 1.4826
"""Median absolute deviation → standard deviation, of normal values."""

OUTLIERS = pl.Schema(
    {
        "worker": pl.Int32,
        "measure": pl.String,  # key of the measure
        "value": pl.Float64,
        "median": pl.Float64,  # of the peers
        "z": pl.Float64,  # robust z; infinite where the peers are all equal
    }
)
"""One row per rank and measure in which it stands out, by rank, the largest share first."""


def rank_outliers(measures: pl.DataFrame, peers: pl.Series) -> pl.DataFrame:
    """:data:`OUTLIERS`.

    Args:
        measures: As ``measures.rank_measures``.
        peers: The group of peers of each rank, aligned; null counts as one group.
    """
    file = rank_measures_file()
    parts = [
        _of_measure(measures, peers, each) for each in file.measures if each.key in measures.columns
    ]
    rows = pl.concat([pl.DataFrame(schema={**OUTLIERS, "size": pl.Float64}), *parts])
    return rows.sort("worker", "size", descending=[False, True]).select(OUTLIERS.names())


def least_deviation(measures: pl.DataFrame, measure: RankMeasure) -> float:
    """The least deviation of a measure that matters, in its own unit; 0 where nothing is known."""
    if measure.unit == "points":
        return measure.matters
    key = "step_ns" if measure.unit == "step" else measure.key
    middle = measures[key].median()
    return abs(middle) * measure.matters / 100 if isinstance(middle, float) else 0.0


def _of_measure(measures: pl.DataFrame, peers: pl.Series, measure: RankMeasure) -> pl.DataFrame:
    file = rank_measures_file()
    least = least_deviation(measures, measure)
    frame = measures.select("worker", pl.col(measure.key).cast(pl.Float64).alias("value"))
    frame = frame.with_columns(peers.alias("peers")).drop_nulls("value")
    frame = frame.with_columns(median=pl.col("value").median().over("peers"))
    away = (pl.col("value") - pl.col("median")).abs()
    frame = frame.with_columns(spread=away.median().over("peers") * _NORMAL)
    frame = frame.with_columns(z=(pl.col("value") - pl.col("median")) / pl.col("spread"))
    stands_out = (
        (pl.len().over("peers") >= file.least_peers)
        & (pl.col("z").abs() >= file.least_z)
        & (away >= max(least, np.finfo(np.float64).tiny))
    )
    return frame.filter(stands_out).select(
        "worker",
        pl.lit(measure.key).alias("measure"),
        "value",
        "median",
        "z",
        size=away / (least or 1.0),
    )
