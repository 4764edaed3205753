"""The step waits for data (rule 1 of peer-behaviour §3.3)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.analysis.roles import Role
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category

CODE = "dataloader_bound"


def detect(context: Context) -> Advice | None:
    """Data loading takes more than the threshold of the average step."""
    waited_ns = context.role_ns(Role.DATALOADER)
    share = context.share_pct(waited_ns)
    if share <= entry(CODE).threshold:
        return None
    rows = (
        context.slices_of(Category.DATALOADER)
        .group_by("name_code", maintain_order=True)
        .agg(pl.len().alias("calls"), (pl.col("dur_ns").sum() / 1000).alias("total_us"))
        .sort("total_us", descending=True, maintain_order=True)
    )
    rows = rows.with_columns(name=context.texts(rows["name_code"])).drop("name_code")
    names = " ".join(rows["name"])
    variant = "default"
    if "_SingleProcess" in names:
        variant = "single"
    elif "_MultiProcessing" in names:
        variant = "multi"
    return Advice(
        CODE,
        share,
        waited_ns / 1000,
        rows=tuple(rows.to_dicts()),
        source={"view": "overview", "table": "steps", "sort": "-dataloader_us"},
        variant=variant,
    )
