"""Matrix kernels without Tensor Cores, in a program whose other kernels use them."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import (
    estimate_gain,
    kernel_intervals,
    kernel_share_pct,
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
    summarize_off_matrix_units,
)
from torch_tb_profiler.knowledge.advice import entry

CODE = "tensor_core_candidates"
EVIDENCE = matrix_kernel_table(CODE)


def detect(context: Context) -> Finding | None:
    """Matrix kernels without Tensor Cores take more than the threshold of the kernel time;
    memory-bound kernels do not count.

    If no kernel uses them at all, ``tensor_cores_unused`` is the finding.
    """
    used, _, _ = matrix_unit_ns(context)
    if not has_matrix_units(context) or used == 0:
        return None
    known = entry(CODE)
    parameters = known.parameters
    candidates = eligible_kernels(context).filter(pl.col("tensor_core") == codes.NO)
    candidates = compute_bound_kernels(context, candidates, parameters["min_flop_per_byte"])
    share = kernel_share_pct(context, candidates)
    if share <= known.threshold:
        return None
    if step_share_pct(context, candidates) < parameters["min_step_share_pct"]:
        return None
    saved = candidates["dur_ns"].to_numpy() * (1 - 1 / parameters["assumed_speedup"])
    gain = estimate_gain(context, CODE, candidates, saved)
    off = summarize_off_matrix_units(context, candidates, EVIDENCE, int(parameters["max_rows"]))
    return Finding(
        CODE,
        share,
        gain.gain_us,
        variant=off.reason.cause if off.reason.cause in known.texts else "default",
        values={
            "reason": off.reason.text,
            "largest": off.largest,
            "units": matrix_unit_name(context),
            "no_gain_yet": gain.no_gain_yet,
        },
        evidence=off.evidence,
        source={
            "view": "kernels",
            "table": "kernels",
            "filter": "tensor_core_used=no",
            "sort": "-total_us",
        },
        architecture=context.architecture_name,
        time=kernel_intervals(context, candidates),
        spot=longest_kernel(context, candidates),
        at_stake_us=gain.at_stake_us,
    )
