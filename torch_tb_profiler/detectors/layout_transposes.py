"""Convolutions convert the layout of their inputs and outputs."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_groups import layout_conversions
from torch_tb_profiler.evidence.kernel_time import kernel_finding, kernel_table, select_kernels
from torch_tb_profiler.knowledge.advice import entry

CODE = "layout_transposes"
EVIDENCE = kernel_table(CODE, "Kernels that convert between NCHW and NHWC")


def detect(context: Context) -> Finding | None:
    """Kernels that convert between NCHW and NHWC around convolutions take more than the threshold
    of the kernel time.

    In channels-last memory no conversion is needed; the gain is the assumed part of their time.
    """
    kernels = select_kernels(context, layout_conversions(context.trace))
    saved = kernels["dur_ns"].to_numpy() * entry(CODE).parameters["assumed_saved_share"]
    return kernel_finding(context, EVIDENCE, kernels, saved)
