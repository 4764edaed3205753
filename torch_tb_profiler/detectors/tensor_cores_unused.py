"""The GPU has Tensor Cores and no kernel used them (rule 6 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import busy, longest, outlook, step_share_pct
from torch_tb_profiler.evidence.matrix_units import (
    declared,
    eligible_kernels,
    has_matrix_units,
    matrix_units,
    off_matrix_units,
    operator_kernel_ns,
    that_compute,
    used_and_unknown_ns,
)
from torch_tb_profiler.knowledge.advice import entry

CODE = "tensor_cores_unused"
EVIDENCE = declared(CODE)
VARIANTS = {"tf32": "tf32", "float32": "default", "unknown": "default"}
"""Cause → text; other causes have one that names the reason."""


def detect(context: Context) -> Finding | None:
    """No kernel is known to use Tensor Cores, and operators that could launched kernels, of which
    those that matrix units would speed up take a noticeable part of the step.

    Kernels no rule knows may use them: where they take more than a little of the time nothing is
    said. The gain is what the kernels that compute would save at the assumed speed-up.
    """
    if not has_matrix_units(context):
        return None
    used, unknown, total = used_and_unknown_ns(context)
    known = entry(CODE)
    parameters = known.parameters
    if used > 0 or total == 0 or unknown / total * 100 > parameters["max_unknown_pct"]:
        return None
    eligible = eligible_kernels(context)
    whole = operator_kernel_ns(context)
    share = int(eligible["dur_ns"].sum()) / whole * 100 if whole else 0.0
    kernels = that_compute(context, eligible, parameters["min_flop_per_byte"])
    if share <= known.threshold:
        return None
    if step_share_pct(context, kernels) < parameters["min_step_share_pct"]:
        return None
    saved = kernels["dur_ns"].to_numpy() * (1 - 1 / parameters["assumed_speedup"])
    could = outlook(context, CODE, kernels, saved)
    off = off_matrix_units(context, kernels, EVIDENCE, int(parameters["max_rows"]))
    architecture = context.architecture
    bfloat16 = architecture is not None and "bfloat16" in architecture.matrix_dtypes
    return Finding(
        CODE,
        share,
        could.gain_us,
        variant=VARIANTS.get(off.why.cause, "reason"),
        values={
            "precision": "bfloat16" if bfloat16 else "float16",
            "units": matrix_units(context),
            "reason": off.why.text,
            "no_gain_yet": could.no_gain_yet,
        },
        evidence=off.evidence,
        source={"view": "operators", "table": "operators", "filter": "tensor_core_eligible=yes"},
        architecture=context.architecture_name,
        time=busy(context, kernels),
        spot=longest(context, kernels),
        at_stake_us=could.at_stake_us,
    )
