"""Ranks that behave alike: patterns of what each rank itself does in a step.

In every measure of behaviour (``knowledge/rank_measures.toml``, and time and device use of the
phases) the values of all ranks are divided where a gap lies between them that is large against
their spread. Ranks that are in the same part of every measure have the same pattern; the pattern
of most ranks is the first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.measures import PHASES
from torch_tb_profiler.analysis.ranks.outliers import least_deviation
from torch_tb_profiler.knowledge.rank_measures import RankMeasure, rank_measures_file
from torch_tb_profiler.trace.columns import Float64, Int64

_NORMAL = 1.4826


def behavior_measures() -> Iterator[RankMeasure]:
    """The measures by which patterns differ."""
    yield from (each for each in rank_measures_file().measures if each.is_behavior)
    for phase in PHASES:
        yield RankMeasure(f"{phase}_ns", f"{phase} time", "step", 2.0, is_behavior=True)
        yield RankMeasure(
            f"{phase}_busy_pct", f"{phase} utilization", "points", 5.0, is_behavior=True
        )


def rank_patterns(measures: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """The pattern of each rank, and how patterns differ.

    Args:
        measures: As ``measures.rank_measures``.

    Returns:
        Per rank its pattern: 1 for that of most ranks; and a row per pattern and measure in which
        it differs from the first: ``pattern``, ``measure`` (title), ``unit`` (``"ns"``, ``"pct"``
        or null for a count), ``value`` and ``usual`` (medians of the pattern and of the first one).
    """
    known = [each for each in behavior_measures() if each.key in measures.columns]
    levels = [_levels(measures, each) for each in known]
    signature = np.stack(levels, axis=1) if levels else np.zeros((measures.height, 1), np.int64)
    _, first, group, counts = np.unique(
        signature, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    if counts[counts > 1].sum() < _least_alike(measures.height):
        # Each of most ranks differs from all others in something: no behaviour is usual.
        group, first, counts = np.zeros_like(group), np.zeros(1, np.int64), counts[:1]
    order = np.lexsort((first, -counts))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(1, len(order) + 1)
    pattern = pl.Series("pattern", number[group.ravel()], pl.Int64)
    of_pattern = signature[first[order]]
    middles = measures.group_by(pattern).agg(pl.col([each.key for each in known]).median())
    middles = middles.sort("pattern")
    parts = [
        _differences(each, middles, of_pattern[:, column]) for column, each in enumerate(known)
    ]
    differences = pl.concat([pl.DataFrame(schema=DIFFERENCES), *parts])
    return pattern, differences.sort("pattern", maintain_order=True)


def _differences(measure: RankMeasure, middles: pl.DataFrame, level: Int64) -> pl.DataFrame:
    """Rows of :data:`DIFFERENCES` of one measure; ``middles`` and ``level`` by pattern."""
    unit = measure.key.rpartition("_")[2] if measure.unit != "own" else None
    return middles.filter(pl.Series(level != level[0])).select(
        "pattern",
        pl.lit(measure.title).alias("measure"),
        pl.lit(unit, pl.String).alias("unit"),
        pl.col(measure.key).cast(pl.Float64).alias("value"),
        pl.lit(middles[measure.key][0], pl.Float64).alias("usual"),
    )


DIFFERENCES = {
    "pattern": pl.Int64,
    "measure": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
    "usual": pl.Float64,
}


def _levels(measures: pl.DataFrame, measure: RankMeasure) -> Int64:
    """Per rank the part of the values that it is in, counted from the lowest; -1 without value."""
    values = measures[measure.key].cast(pl.Float64).fill_null(np.nan).to_numpy()
    level = np.full(len(values), -1, np.int64)
    known = np.flatnonzero(~np.isnan(values))
    if len(known):
        order = known[np.argsort(values[known], kind="stable")]
        level[order] = _parts(values[order], least_deviation(measures, measure))
    return level


def _parts(values: Float64, least: float) -> Int64:
    """Ascending values divided at gaps of at least ``least`` and ``least_gaps`` times the spread in
    one part, where most values have a neighbour: else nothing says what is usual."""
    file = rank_measures_file()
    gaps = np.diff(values)
    cuts = np.flatnonzero(gaps >= max(least, np.finfo(np.float64).tiny))
    needed = _least_alike(len(values))
    while len(cuts):
        begins = np.zeros(len(values), np.int64)
        begins[cuts + 1] = 1
        part = np.cumsum(begins)
        spread, with_neighbour = _spread(values, part)
        smallest = cuts[np.argmin(gaps[cuts])]
        if with_neighbour >= needed and gaps[smallest] >= file.least_gaps * spread:
            return part
        cuts = cuts[cuts != smallest]
    return np.zeros(len(values), np.int64)


def _least_alike(ranks: int) -> float:
    """How many of some ranks must have another one that is alike."""
    file = rank_measures_file()
    return max(file.least_peers, file.least_alike_pct / 100 * ranks)


def _spread(values: Float64, part: Int64) -> tuple[float, int]:
    """The robust standard deviation of values around the medians of their parts, and how many
    values share their part with another."""
    starts = np.flatnonzero(np.append(True, np.diff(part) > 0))
    ends = np.append(starts[1:], len(values))
    median = values[(starts + ends - 1) // 2]
    counted = (ends - starts)[part] > 1
    away = np.abs(values - median[part])[counted]
    return (float(np.median(away)) * _NORMAL if len(away) else 0.0), len(away)
