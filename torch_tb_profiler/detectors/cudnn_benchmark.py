"""Convolutions run without a search for their fastest algorithms."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import kernel_finding, kernel_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

CODE = "cudnn_benchmark"
EVIDENCE = kernel_table(CODE, "Convolution kernels")
OPERATOR = "aten::convolution"


def detect(context: Context) -> Finding | None:
    """``torch.backends.cudnn.benchmark`` is recorded as off, and kernels of convolutions take more
    than the threshold of the kernel time. Not if most calls have different shapes: the search would
    cost more than it saves.

    What another algorithm would save is unknown, so no gain is estimated.
    """
    if context.trace.meta.info.settings.cudnn_benchmark is not False:
        return None
    shapes, calls = _shapes(context.trace)
    if shapes * entry(CODE).parameters["min_calls_per_shape"] > calls > 0:
        return None
    kernels = context.kernels.filter(
        context.match_kernel_kinds(
            context.kernels["name_code"], lambda kind: kind.kind == "convolution"
        )
    )
    return kernel_finding(context, EVIDENCE, kernels, np.zeros(kernels.height))


@per_trace
def _shapes(trace: Trace) -> tuple[int, int]:
    """The number of input shapes of convolutions, and the number of calls; 0 without recorded
    shapes."""
    operators = trace.operators.filter(pl.col("input_shape_code").is_not_null())
    names = trace.slices["name_code"].to_numpy()[operators["slice"].to_numpy()]
    chosen = codes.map_names(trace, names, lambda name: name == OPERATOR, np.bool_)
    shapes = operators["input_shape_code"].filter(pl.Series(chosen))
    return shapes.n_unique(), len(shapes)
