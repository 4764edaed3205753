"""Operators that have faster algorithms are held to deterministic ones."""

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
EVIDENCE = kernel_table(CODE, "Kernels of operators that are held to it")
CONVOLUTION = re.compile(r"aten::\w*convolution\w*")
OTHERS = re.compile(
    r"aten::(index_add_?|index_put_?|_index_put_impl_|index_copy_?|scatter\w*|embedding\w*backward"
    r"|cumsum|upsample\w*backward|adaptive\w*backward|max_pool\w*backward\w*)"
)
"""Operators that take other algorithms under ``torch.use_deterministic_algorithms``."""


def detect(context: Context) -> Finding | None:
    """Determinism is on, and kernels of operators that it changes take more than the threshold of
    the kernel time. What others would save cannot be told."""
    settings = context.trace.meta.info.settings
    of_torch, of_cudnn = settings.deterministic_algorithms, settings.cudnn_deterministic
    if not (of_torch or of_cudnn):
        return None

    def is_changed(name: str) -> bool:
        is_convolution = CONVOLUTION.fullmatch(name) is not None
        return is_convolution or (bool(of_torch) and OTHERS.fullmatch(name) is not None)

    owners = gather(indices(context.trace.slices["name_code"]), indices(context.kernels["owner"]))
    changed = codes.map_names(context.trace, owners, is_changed, np.bool_)
    kernels = context.kernels.filter(pl.Series(changed))
    variant = "default" if of_torch else "cudnn"
    return kernel_finding(context, EVIDENCE, kernels, np.zeros(kernels.height), variant)
