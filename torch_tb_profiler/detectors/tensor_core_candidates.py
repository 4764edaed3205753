"""Some kernels use Tensor Cores; these of matrix operators do not, and why."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import (
    busy,
    kernel_share_pct,
    longest,
    outlook,
    step_share_pct,
)
from torch_tb_profiler.evidence.matrix_units import (
    declared,
    eligible_kernels,
    has_matrix_units,
    matrix_units,
    off_matrix_units,
    that_compute,
    used_and_unknown_ns,
)
from torch_tb_profiler.knowledge.advice import entry

CODE = "tensor_core_candidates"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Matrix kernels off the Tensor Cores take more than the threshold of the kernel time; those
    that memory limits do not count.

    Where no kernel uses them at all, ``tensor_cores_unused`` speaks instead.
    """
    used, _, _ = used_and_unknown_ns(context)
    if not has_matrix_units(context) or used == 0:
        return None
    known = entry(CODE)
    parameters = known.parameters
    idle = eligible_kernels(context).filter(pl.col("tensor_core") == codes.NO)
    idle = that_compute(context, idle, parameters["min_flop_per_byte"])
    share = kernel_share_pct(context, idle)
    if share <= known.threshold:
        return None
    if step_share_pct(context, idle) < parameters["min_step_share_pct"]:
        return None
    saved = idle["dur_ns"].to_numpy() * (1 - 1 / parameters["assumed_speedup"])
    could = outlook(context, CODE, idle, saved)
    off = off_matrix_units(context, idle, EVIDENCE, int(parameters["max_rows"]))
    return Finding(
        CODE,
        share,
        could.gain_us,
        variant=off.why.cause if off.why.cause in known.texts else "default",
        values={
            "reason": off.why.text,
            "units": matrix_units(context),
            "no_gain_yet": could.no_gain_yet,
        },
        evidence=off.evidence,
        source={"view": "kernels", "table": "kernels", "filter": "tensor_core_used=no"},
        architecture=context.architecture_name,
        time=busy(context, idle),
        spot=longest(context, idle),
        at_stake_us=could.at_stake_us,
    )
