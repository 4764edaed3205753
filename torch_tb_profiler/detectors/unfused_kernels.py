"""Most of the kernel time goes to elementwise kernels, reductions, copies and concatenations, each
a separate pass over memory."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_groups import (
    eager_attention,
    layout_conversions,
    optimizer_kernels,
)
from torch_tb_profiler.evidence.kernel_time import (
    kernel_finding,
    kernel_share_pct,
    kernel_table,
    select_kernels,
)
from torch_tb_profiler.evidence.program import is_compiled
from torch_tb_profiler.evidence.stream_runs import fusion_savings
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.kernels import KernelKind
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

CODE = "unfused_kernels"
EVIDENCE = kernel_table(CODE, "Unfused kernels")
UNFUSED = frozenset({"elementwise", "reduction", "copy", "concatenation"})
EAGER = ("at::native", "2at6native")
"""Part of the names of PyTorch's own kernels, as text and mangled; kernels of torch.compile and of
libraries are fused already."""


def detect(context: Context) -> Finding | None:
    """Elementwise, reduction, copy and concatenation kernels of single operators take more than the
    threshold of the kernel time, and fusing them would save a noticeable part of the step. Kernels
    of eager attention, layout conversions and the optimizer belong to other findings.

    The gain is the saving of fusing them with their neighbors on the stream: at most the assumed
    part of consecutive kernels, and the fused kernel takes as long as the longest of them. A kernel
    whose neighbors cannot be fused saves nothing.
    """
    trace = context.trace
    elsewhere = eager_attention(trace) | layout_conversions(trace)
    kernels = select_kernels(context, _eager(trace) & ~elsewhere)
    if kernel_share_pct(context, kernels) <= entry(CODE).threshold:
        return None
    kernels = kernels.join(optimizer_kernels(context), on="slice", how="anti")
    slices = kernels["slice"].to_numpy()
    saved_share = fusion_savings(trace, entry(CODE).parameters["assumed_saved_share"])
    row = np.searchsorted(trace.device_work["slice"].to_numpy(), slices)
    saved_ns = kernels["dur_ns"].to_numpy() * saved_share[row]
    least_pct = entry(CODE).parameters["min_saved_pct"]
    if context.share_pct(context.per_step(float(saved_ns.sum()))) < least_pct:
        return None
    return kernel_finding(
        context,
        EVIDENCE,
        kernels,
        saved_ns,
        "compiled" if is_compiled(trace) else "default",
    )


def _eager(trace: Trace) -> Bools:
    """Mask of the rows of ``trace.device_work`` that are unfused kernels of PyTorch."""
    rows = np.flatnonzero(kernel_kinds(trace).is_kernel)
    names = trace.device_work["name_code"].to_numpy()[rows]
    is_unfused = kernel_name_kinds(trace).verdicts(names, _is_unfused) == codes.YES
    is_eager = codes.names_match(trace, names, lambda name: any(part in name for part in EAGER))
    mask = np.zeros(trace.device_work.height, np.bool_)
    mask[rows[is_unfused & is_eager]] = True
    return mask


def _is_unfused(kind: KernelKind) -> bool:
    return kind.kind in UNFUSED
