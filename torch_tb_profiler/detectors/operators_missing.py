"""Kernels were recorded without the operators that launched them."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.capabilities import has_operators
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import longest_kernel
from torch_tb_profiler.evidence.tables import CALLS, KERNEL, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import TableSpec

CODE = "operators_missing"
MAX_ROWS = 10
ANY_RECORDER = "Record the ranges of the framework too."
EVIDENCE = TableSpec(
    CODE,
    "Kernels without operator",
    "One row per kernel, longest total time first.",
    (KERNEL, CALLS, TOTAL_US),
)


def detect(context: Context) -> Finding | None:
    """Kernels ran, and the recording has no operator at all, without stating a reason. (Kernels of
    graphs have no operators even in a complete recording.)"""
    not_recorded = {each.capability for each in context.trace.meta.info.not_recorded}
    if "operators" in not_recorded or has_operators(context.trace):
        return None
    kernels = context.work.filter("is_kernel")
    if kernels.is_empty():
        return None
    without = (1 - context.operator_kernels.height / kernels.height) * 100
    if without <= entry(CODE).threshold:
        return None
    rows = sum_calls(kernels, "name_code")
    rows = rows.with_columns(kernel=context.texts(rows["name_code"])).head(MAX_ROWS)
    return Finding(
        CODE,
        without,
        None,
        values={"recording": _recording(context)},
        evidence=build_table(EVIDENCE, rows),
        source={"view": "kernels", "table": "kernels", "sort": "-total_us"},
        architecture=context.architecture_name,
        spot=longest_kernel(context, kernels),
    )


def _recording(context: Context) -> str:
    """How the recorder of this trace records operators, as a sentence."""
    option = recorder(context.trace).records.get("operators")
    return ANY_RECORDER if option is None else f"{option}."
