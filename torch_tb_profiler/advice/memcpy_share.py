"""Memory copies that nothing hides."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.advice.sources import heaviest_operator_rows
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.roles import Role
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category

CODE = "memcpy_share"


def detect(context: Context) -> Advice | None:
    """Copies, where no kernel runs, take more than the threshold of the step."""
    spent_ns = context.role_ns(Role.MEMCPY)
    share = context.share_pct(spent_ns)
    if share <= entry(CODE).threshold:
        return None
    copies = context.work.filter(pl.col("category") == Category.MEMCPY)
    by_operator = heaviest_operator_rows(
        context, indices(copies["owner"]), copies["dur_ns"].to_numpy()
    )
    return Advice(
        CODE,
        share,
        spent_ns / 1000,
        rows=copy_rows(context, copies),
        source=by_operator or {"view": "overview", "table": "steps", "sort": "-memcpy_us"},
        architecture=context.architecture_name,
    )


def copy_rows(context: Context, copies: pl.DataFrame) -> tuple[dict[str, object], ...]:
    """Copies by their kind (``Memcpy HtoD (Pageable -> Device)``), longest first."""
    rows = (
        copies.group_by("name_code", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            (pl.col("dur_ns").sum() / 1000).alias("total_us"),
            pl.col("bytes").sum().alias("total_bytes"),
        )
        .sort("total_us", descending=True, maintain_order=True)
    )
    return tuple(
        rows.with_columns(name=context.texts(rows["name_code"])).drop("name_code").to_dicts()
    )
