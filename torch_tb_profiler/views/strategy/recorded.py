"""The strategy that files of the ranks state.

Definitions: ``docs/views-strategy.md#as-recorded``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.parallel.recorded import recorded_strategies
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.schema import Column, Table, TableSpec

RECORDED = TableSpec(
    "recorded_strategy",
    "Strategy as recorded",
    "One row per pipeline stage and operators that are divided alike, as files of its ranks state.",
    (
        Column("stage", "Stage", "integer", None, "Pipeline stage, from 0."),
        Column("ranks", "Ranks", "string", None, "Ranks whose files state it."),
        Column("mode", "Mode", "string", None, "How the job is parallel, in MindSpore's words."),
        Column("type", "Operator Type", "string", None, "Type of the operators."),
        Column(
            "strategy",
            "Strategy",
            "string",
            None,
            "Parts of each dimension of each input; the first dimension of the first is the batch.",
        ),
        Column(
            "division",
            "Divides",
            "string",
            None,
            "data: the batch is divided; model: any other dimension is; not divided: every rank "
            "computes all of it.",
        ),
        Column("operators", "Operators", "integer", "count", "Such operators of one rank."),
        Column("example", "Example", "string", None, "Name of one of them."),
    ),
    sort="stage,-operators",
    when_empty="No file of the ranks states a strategy (MindSpore's parallel_strategy_*.json).",
)


def recorded_table(traces: Mapping[str, Trace]) -> Table:
    """The ``recorded_strategy`` table."""
    keys = ("stage", "mode", "type", "strategy", "division")
    rows = recorded_strategies(traces)
    alike = rows.group_by(keys, maintain_order=True).agg(
        pl.col("rank").drop_nulls().unique().sort(),
        pl.col("operators").max(),
        pl.col("example").first(),
    )
    ranks = [rank_text(each) or None for each in alike["rank"].to_list()]
    frame = alike.with_columns(ranks=pl.Series(ranks, dtype=pl.String)).sort(
        "stage", "operators", descending=[False, True], nulls_last=True, maintain_order=True
    )
    schema = RECORDED.polars_schema()
    table = frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    none = "No operator of the file's graph states a strategy."
    reasons = {
        "ranks": "The rank was not recorded.",
        "stage": "The file states no stage.",
        "mode": "The file states no mode.",
        **dict.fromkeys(("type", "strategy", "division", "operators", "example"), none),
    }
    return Table(RECORDED, table, needed(table, reasons))
