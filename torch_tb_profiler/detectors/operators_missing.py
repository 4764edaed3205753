"""Kernels were recorded, and nothing of the framework that launched them."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import longest
from torch_tb_profiler.evidence.program import tells_use
from torch_tb_profiler.evidence.tables import CALLS, KERNEL, TOTAL_US, calls_and_time, filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import TableSpec

CODE = "operators_missing"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Kernels without operator",
    "One row per kernel, those that took longest first.",
    (KERNEL, CALLS, TOTAL_US),
)


def detect(context: Context) -> Finding | None:
    """Kernels ran, and the recording holds no operator at all, for no reason of its own. (Kernels
    of graphs have none of their own where everything is recorded.)"""
    lacks = {each.capability for each in context.trace.meta.info.not_recorded}
    if "operators" in lacks or tells_use(context.trace):
        return None
    kernels = context.work.filter("is_kernel")
    if kernels.is_empty():
        return None
    without = (1 - context.operator_kernels.height / kernels.height) * 100
    if without <= entry(CODE).threshold:
        return None
    rows = calls_and_time(kernels, "name_code")
    rows = rows.with_columns(kernel=context.texts(rows["name_code"])).head(MAX_ROWS)
    return Finding(
        CODE,
        without,
        None,
        evidence=filled(EVIDENCE, rows),
        source={"view": "kernels", "table": "kernels", "sort": "-total_us"},
        architecture=context.architecture_name,
        spot=longest(context, kernels),
    )
