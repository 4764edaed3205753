"""Attention runs as separate kernels: products, mask, softmax, dropout."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_groups import eager_attention, uses_sdpa_fallback
from torch_tb_profiler.evidence.kernel_time import kernel_finding, kernel_table, select_kernels
from torch_tb_profiler.knowledge.advice import entry

CODE = "eager_attention"
EVIDENCE = kernel_table(CODE, "Kernels between the products of attention")


def detect(context: Context) -> Finding | None:
    """The kernels between the two batched products of attention take more than the threshold of
    the kernel time.

    A fused kernel keeps the scores on chip and needs no passes over them; the gain is the assumed
    part of their time. Without the operators of the products, attention cannot be distinguished
    from other uses of softmax, and there is no finding.
    """
    kernels = select_kernels(context, eager_attention(context.trace))
    return kernel_finding(
        context,
        EVIDENCE,
        kernels,
        kernels["dur_ns"].to_numpy() * entry(CODE).parameters["assumed_saved_share"],
        "fallback" if uses_sdpa_fallback(context.trace, indices(kernels["owner"])) else "default",
    )
