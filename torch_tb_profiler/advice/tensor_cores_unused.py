"""The GPU has Tensor Cores and no kernel used them (rule 6 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.eligible_kernels import (
    declared,
    eligible_kernels,
    has_matrix_units,
    operator_kernel_ns,
    unused_evidence,
    used_and_unknown_ns,
)
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "tensor_cores_unused"
EVIDENCE = declared(CODE)
MAX_ROWS = 10


def detect(context: Context) -> Finding | None:
    """No kernel is known to use Tensor Cores, and operators that could launched kernels.

    Kernels no rule knows may use them: where they take more than a little of the time nothing is
    said. The gain is what the eligible kernels would save at the assumed speed-up.
    """
    if not has_matrix_units(context):
        return None
    used, unknown, total = used_and_unknown_ns(context)
    parameters = entry(CODE).parameters
    if used > 0 or total == 0 or unknown / total * 100 > parameters["max_unknown_pct"]:
        return None
    kernels = eligible_kernels(context)
    whole = operator_kernel_ns(context)
    eligible_ns = int(kernels["dur_ns"].sum())
    share = eligible_ns / whole * 100 if whole else 0.0
    if share <= entry(CODE).threshold:
        return None
    saved = eligible_ns * (1 - 1 / parameters["assumed_speedup"])
    architecture = context.architecture
    bfloat16 = architecture is not None and "bfloat16" in architecture.matrix_dtypes
    return Finding(
        CODE,
        share,
        context.per_step(saved) / NS_PER_US,
        values={"precision": "bfloat16" if bfloat16 else "float16"},
        evidence=unused_evidence(context, kernels, EVIDENCE, MAX_ROWS),
        source={"view": "operators", "table": "operators", "filter": "tensor_core_eligible=yes"},
        architecture=context.architecture_name,
    )
