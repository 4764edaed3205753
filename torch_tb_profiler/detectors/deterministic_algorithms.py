"""Operators run deterministic algorithms although they have faster ones."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import kernel_finding, kernel_table

CODE = "deterministic_algorithms"
EVIDENCE = kernel_table(CODE, "Kernels of operators with deterministic algorithms")
CONVOLUTION = re.compile(r"aten::\w*convolution\w*")
OTHERS = re.compile(
    r"aten::(index_add_?|index_put_?|_index_put_impl_|index_copy_?|scatter\w*|embedding\w*backward"
    r"|cumsum|upsample\w*backward|adaptive\w*backward|max_pool\w*backward\w*)"
)
"""Operators that use other algorithms under ``torch.use_deterministic_algorithms``."""


def detect(context: Context) -> Finding | None:
    """Determinism is on, and kernels of operators that it changes take more than the threshold of
    the kernel time. What other algorithms would save is unknown, so no gain is estimated."""
    settings = context.trace.meta.info.settings
    by_torch, by_cudnn = settings.deterministic_algorithms, settings.cudnn_deterministic
    if not (by_torch or by_cudnn):
        return None

    def is_changed(name: str) -> bool:
        is_convolution = CONVOLUTION.fullmatch(name) is not None
        return is_convolution or (bool(by_torch) and OTHERS.fullmatch(name) is not None)

    owners = gather(indices(context.trace.slices["name_code"]), indices(context.kernels["owner"]))
    changed = codes.map_names(context.trace, owners, is_changed, np.bool_)
    kernels = context.kernels.filter(pl.Series(changed))
    variant = "default" if by_torch else "cudnn"
    return kernel_finding(context, EVIDENCE, kernels, np.zeros(kernels.height), variant)
