"""The parallel strategy that files of the ranks state (MindSpore's ``parallel_strategy_*.json``).

A strategy is the number of parts of each dimension of each input of an operator
(``docs/views-strategy.md#as-recorded``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.trace.model import Trace

TABLE = "parallel_strategy"
"""The side table."""

RECORDED_STRATEGY = pl.Schema(
    {
        "worker": pl.String,
        "rank": pl.Int64,
        "stage": pl.Int64,
        "mode": pl.String,
        "type": pl.String,
        "strategy": pl.String,
        "division": pl.String,  # "data", "model", "data and model", "not divided"; null: unknown
        "operators": pl.Int64,
        "example": pl.String,
    }
)

_INPUT = re.compile(r"\(([0-9,]*)\)")


def recorded_strategies(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The stated strategies of all ranks, as :data:`RECORDED_STRATEGY`."""
    parts = [
        side.frame.select(
            pl.lit(worker, pl.String).alias("worker"),
            pl.lit(own_rank(trace), pl.Int64).alias("rank"),
            pl.all(),
        )
        for worker, trace in traces.items()
        if (side := trace.side.get(TABLE)) is not None
    ]
    if not parts:
        return pl.DataFrame(schema=RECORDED_STRATEGY)
    rows = pl.concat(parts)
    divisions = {text: division(text) for text in rows["strategy"].drop_nulls().unique().to_list()}
    stated = [None if text is None else divisions[text] for text in rows["strategy"].to_list()]
    rows = rows.with_columns(division=pl.Series(stated, dtype=pl.String))
    return rows.select(RECORDED_STRATEGY.names()).cast(RECORDED_STRATEGY)


def recorded_stages(traces: Mapping[str, Trace]) -> pl.Series | None:
    """The pipeline stage of each rank as its files state it (its strategy, or the steps of its
    cluster), null for unknown ones; None where fewer than two stages are stated."""
    stages = []
    for trace in traces.values():
        tables = (trace.side.get(name) for name in (TABLE, "cluster_steps"))
        known = [each.frame["stage"].drop_nulls() for each in tables if each is not None]
        stages.append(next((int(each[0]) for each in known if len(each)), None))
    series = pl.Series("pipeline", stages, dtype=pl.Int64)
    return series if series.drop_nulls().n_unique() > 1 else None


def division(strategy: str) -> str | None:
    """What a strategy divides: the first dimension of the first input is the batch (``data``),
    every other one a model (``model``).

    >>> division("((2,1,1,1),(1,1,1,1))"), division("((1,4),(4,1))"), division("((2,2),(2,1))")
    ('data', 'model', 'data and model')
    """
    inputs = [
        [int(part) for part in text.split(",") if part] for text in _INPUT.findall(strategy[1:])
    ]
    if not inputs or not inputs[0]:
        return None
    (batch, *inner), others = inputs[0], inputs[1:]
    # An input of the same rank with an equally divided batch, such as a residual, is data too.
    rest = [
        parts[1:] if len(parts) == len(inputs[0]) and parts[0] == batch > 1 else parts
        for parts in others
    ]
    names = [
        name
        for name, holds in (
            ("data", batch > 1),
            ("model", any(part > 1 for parts in (inner, *rest) for part in parts)),
        )
        if holds
    ]
    return " and ".join(names) or "not divided"
