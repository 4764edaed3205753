"""The step waits for data (rule 1 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import CALLS, TOTAL_US, calls_and_time, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.roles import Role
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "dataloader_bound"
EVIDENCE = TableSpec(
    CODE,
    "Data loading",
    "One row per kind of iterator that was waited for.",
    (
        Column("name", "Iterator", "string", None, "The range the profiler recorded."),
        CALLS,
        TOTAL_US,
    ),
)


def detect(context: Context) -> Finding | None:
    """Data loading takes more than the threshold of the average step."""
    waited_ns = context.role_ns(Role.DATALOADER)
    share = context.share_pct(waited_ns)
    if share <= entry(CODE).threshold:
        return None
    iterators = calls_and_time(context.ranges_of(Category.DATALOADER), "name_code")
    iterators = iterators.with_columns(name=context.texts(iterators["name_code"]))
    names = " ".join(iterators["name"])
    variant = "default"
    if "_SingleProcess" in names:
        variant = "single"
    elif "_MultiProcessing" in names:
        variant = "multi"
    return Finding(
        CODE,
        share,
        waited_ns / NS_PER_US,
        evidence=filled(EVIDENCE, iterators),
        source={"view": "overview", "table": "steps", "sort": "-dataloader_us"},
        variant=variant,
    )
