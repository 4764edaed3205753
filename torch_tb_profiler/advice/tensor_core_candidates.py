"""Some kernels use Tensor Cores; these of matrix operators do not, and why."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.eligible_kernels import (
    declared,
    eligible_kernels,
    has_matrix_units,
    unused_evidence,
    used_and_unknown_ns,
)
from torch_tb_profiler.advice.evidence import main_reason
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis import codes
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "tensor_core_candidates"
EVIDENCE = declared(CODE)
MATRIX_KINDS = frozenset({"gemm", "gemv", "convolution", "attention", "rnn"})
"""Kinds of kernels that matrix units could do; eligible operators also launch copies and sums."""


def detect(context: Context) -> Finding | None:
    """Matrix kernels off the Tensor Cores take more than the threshold of the kernel time.

    Where no kernel uses them at all, ``tensor_cores_unused`` speaks instead.
    """
    used, _, total = used_and_unknown_ns(context)
    if not has_matrix_units(context) or used == 0:
        return None
    idle = eligible_kernels(context).filter(pl.col("tensor_core") == codes.NO)
    idle = idle.filter(
        context.kernels_that(idle["name_code"], lambda kind: kind.kind in MATRIX_KINDS)
    )
    idle_ns = int(idle["dur_ns"].sum())
    share = idle_ns / total * 100
    known = entry(CODE)
    if share <= known.threshold:
        return None
    evidence = unused_evidence(context, idle, EVIDENCE, int(known.parameters["max_rows"]))
    saved = idle_ns * (1 - 1 / known.parameters["assumed_speedup"])
    return Finding(
        CODE,
        share,
        context.per_step(saved) / NS_PER_US,
        values={"reason": main_reason(evidence.frame)},
        evidence=evidence,
        source={"view": "kernels", "table": "kernels", "filter": "tensor_core_used=no"},
        architecture=context.architecture_name,
    )
