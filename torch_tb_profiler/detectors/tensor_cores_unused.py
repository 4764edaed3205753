"""The GPU has Tensor Cores and no kernel used them (rule 6 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import (
    estimate_gain,
    kernel_intervals,
    longest_kernel,
    step_share_pct,
)
from torch_tb_profiler.evidence.matrix_units import (
    compute_bound_kernels,
    eligible_kernels,
    has_matrix_units,
    matrix_kernel_table,
    matrix_unit_name,
    matrix_unit_ns,
    operator_kernel_ns,
    summarize_off_matrix_units,
)
from torch_tb_profiler.knowledge.advice import entry

CODE = "tensor_cores_unused"
EVIDENCE = matrix_kernel_table(CODE)
VARIANTS = {"tf32": "tf32", "float32": "default", "unknown": "default"}
"""Cause → text variant; other causes have a text that names the reason."""


def detect(context: Context) -> Finding | None:
    """No kernel is known to use Tensor Cores, and the compute-bound kernels of operators that could
    use them take a noticeable part of the step.

    Unknown kernels may use them: if they take more than a little of the time, there is no finding.
    The gain is the saving of the compute-bound kernels at the assumed speed-up.
    """
    if not has_matrix_units(context):
        return None
    used, unknown, total = matrix_unit_ns(context)
    known = entry(CODE)
    parameters = known.parameters
    if used > 0 or total == 0 or unknown / total * 100 > parameters["max_unknown_pct"]:
        return None
    eligible = eligible_kernels(context)
    whole = operator_kernel_ns(context)
    share = int(eligible["dur_ns"].sum()) / whole * 100 if whole else 0.0
    kernels = compute_bound_kernels(context, eligible, parameters["min_flop_per_byte"])
    if share <= known.threshold:
        return None
    if step_share_pct(context, kernels) < parameters["min_step_share_pct"]:
        return None
    saved = kernels["dur_ns"].to_numpy() * (1 - 1 / parameters["assumed_speedup"])
    gain = estimate_gain(context, CODE, kernels, saved)
    off = summarize_off_matrix_units(context, kernels, EVIDENCE, int(parameters["max_rows"]))
    architecture = context.architecture
    bfloat16 = architecture is not None and "bfloat16" in architecture.matrix_dtypes
    return Finding(
        CODE,
        share,
        gain.gain_us,
        variant=VARIANTS.get(off.reason.cause, "reason"),
        values={
            "precision": "bfloat16" if bfloat16 else "float16",
            "units": matrix_unit_name(context),
            "reason": off.reason.text,
            "no_gain_yet": gain.no_gain_yet,
        },
        evidence=off.evidence,
        source={
            "view": "operators",
            "table": "operators",
            "filter": "tensor_core_eligible=yes",
            "sort": "-device_self_us",
        },
        architecture=context.architecture_name,
        time=kernel_intervals(context, kernels),
        spot=longest_kernel(context, kernels),
        at_stake_us=gain.at_stake_us,
    )
