"""Ranks that differ from their peers, and rows and columns of the matrix of ranks that differ from
the others, by a measure.

Robust: medians and median absolute deviations (``[outliers]`` of ``knowledge/parallel.toml``), so
that what is slow does not hide itself. Ranks are compared within their pipeline stage, as stages
do different work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.knowledge.parallel import parallel_file
from torch_tb_profiler.trace.columns import Bools

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

TO_SIGMA = 1.4826
"""Median absolute deviation of a normal distribution → its standard deviation."""

FEWEST_PEERS = 3
"""Among fewer ranks there is no usual value."""

LINES = pl.Schema(
    {
        "dimension": pl.String,
        "index": pl.String,
        "ranks": pl.Int64,  # with a value
        "median": pl.Float64,
        "others": pl.Float64,  # median of the other ranks
        "deviation_pct": pl.Float64,  # from that; null where it is 0
        "is_outlier": pl.Boolean,  # null beside fewer than FEWEST_PEERS others
    }
)
"""One row per index of each dimension that distinguishes ranks."""


def rank_outliers(values: pl.Series, peers: pl.Series) -> pl.Series:
    """Whether each rank is an outlier among those with the same ``peers``; null without a value,
    or where fewer than :data:`FEWEST_PEERS` peers have one."""
    frame = pl.DataFrame({"value": values.cast(pl.Float64), "peers": peers})
    value, limits = pl.col("value"), parallel_file().outliers
    middle = value.median().over("peers")
    frame = frame.with_columns(away=(value - middle).abs(), middle=middle.abs())
    spread = TO_SIGMA * pl.col("away").median().over("peers")
    known = value.is_not_null() & (value.count().over("peers") >= FEWEST_PEERS)
    far = (pl.col("away") > limits.scaled_deviations * spread) & (
        pl.col("away") > limits.deviation_pct / 100 * pl.col("middle")
    )
    return frame.select(pl.when(known).then(far).alias("is_outlier")).to_series()


def lines(ranks: pl.DataFrame, dimensions: Sequence[str]) -> pl.DataFrame:
    """The rows and columns of the matrix, as :data:`LINES`.

    Args:
        ranks: One row per rank with ``value`` and its index in each dimension, null for none.
        dimensions: The columns with these indices, of any type.
    """
    known = ranks.filter(pl.col("value").is_not_null())
    rows = []
    for dimension in dimensions:
        part = known.filter(pl.col(dimension).is_not_null()).sort(dimension, maintain_order=True)
        values = part["value"].cast(pl.Float64).to_numpy()
        index = part[dimension].rle_id().to_numpy()
        names = part[dimension].unique(maintain_order=True).to_list()
        if len(names) > 1:
            rows += [
                {"dimension": dimension, "index": str(name), **_line(values, index == number)}
                for number, name in enumerate(names)
            ]
    return pl.DataFrame(rows, schema=LINES)


def _line(values: Floats, inside: Bools) -> dict[str, float | int | bool | None]:
    limits = parallel_file().outliers
    own, others = float(np.median(values[inside])), values[~inside]
    usual = float(np.median(others))
    spread = TO_SIGMA * float(np.median(np.abs(others - usual)))
    away = abs(own - usual)
    far = away > limits.scaled_deviations * spread
    return {
        "ranks": int(inside.sum()),
        "median": own,
        "others": usual,
        "deviation_pct": 100 * (own - usual) / abs(usual) if usual else None,
        "is_outlier": bool(far and away > limits.deviation_pct / 100 * abs(usual))
        if len(others) >= FEWEST_PEERS
        else None,
    }
