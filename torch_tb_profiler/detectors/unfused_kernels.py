"""Most of the kernel time goes to elementwise work, reductions, copies and concatenations, each a
pass over memory of its own."""

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
    marked,
)
from torch_tb_profiler.evidence.program import is_compiled
from torch_tb_profiler.evidence.stream_runs import savings_of_runs
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.kernels import KernelKind
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

CODE = "unfused_kernels"
EVIDENCE = kernel_table(CODE, "Kernels that are not fused")
UNFUSED = frozenset({"elementwise", "reduction", "copy", "concatenation"})
EAGER = ("at::native", "2at6native")
"""In the names of the kernels of PyTorch's own operators, as text and mangled; kernels that
torch.compile or a library made are fused already."""


def detect(context: Context) -> Finding | None:
    """Elementwise, reduction, copy and concatenation kernels of single operators take more than the
    threshold of the kernel time, and fused they would take less by a noticeable part of the step;
    those of eager attention, of layout conversions and of the optimizer have findings of their own.

    The gain is what fusing them with their neighbours on the stream could save: at most the
    assumed part of a run, and a fused run takes as long as its longest kernel. A kernel between
    others that cannot be fused saves nothing.
    """
    trace = context.trace
    elsewhere = eager_attention(trace) | layout_conversions(trace)
    kernels = marked(context, _eager(trace) & ~elsewhere)
    if kernel_share_pct(context, kernels) <= entry(CODE).threshold:
        return None
    kernels = kernels.join(optimizer_kernels(context), on="slice", how="anti")
    slices = kernels["slice"].to_numpy()
    saved_share = savings_of_runs(trace, entry(CODE).parameters["assumed_saved_share"])
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
    """Per row of ``trace.device_work`` whether it is an unfused kernel of PyTorch."""
    rows = np.flatnonzero(kernel_kinds(trace).is_kernel)
    names = trace.device_work["name_code"].to_numpy()[rows]
    of_kind = kernel_name_kinds(trace).verdicts(names, _is_unfused) == codes.YES
    eager = codes.names_match(trace, names, lambda name: any(part in name for part in EAGER))
    found = np.zeros(trace.device_work.height, np.bool_)
    found[rows[of_kind & eager]] = True
    return found


def _is_unfused(kind: KernelKind) -> bool:
    return kind.kind in UNFUSED
