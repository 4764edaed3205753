"""Memory copies that nothing hides."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.copy_evidence import copy_evidence, declared
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.sources import heaviest_operator_rows
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.roles import Role
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "memcpy_share"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Copies, where no kernel runs, take more than the threshold of the step."""
    spent_ns = context.role_ns(Role.MEMCPY)
    share = context.share_pct(spent_ns)
    if share <= entry(CODE).threshold:
        return None
    copies = context.work.filter(pl.col("category") == Category.MEMCPY)
    by_operator = heaviest_operator_rows(
        context, indices(copies["owner"]), copies["dur_ns"].to_numpy()
    )
    return Finding(
        CODE,
        share,
        spent_ns / NS_PER_US,
        evidence=copy_evidence(context, copies, EVIDENCE),
        source=by_operator or {"view": "overview", "table": "steps", "sort": "-memcpy_us"},
        architecture=context.architecture_name,
    )
