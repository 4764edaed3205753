"""Which slices count as operators in every table."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MODEL_WRAPPERS = ("DataParallel.forward", "DistributedDataParallel.forward")
"""Operator events that wrap a whole model."""

OPTIMIZER_PREFIX = "Optimizer."


def is_operator_name(name: str) -> bool:
    """Whether an operator event of this name is one in tables (``docs/metrics.md#operators``)."""
    return name not in MODEL_WRAPPERS and not name.startswith(OPTIMIZER_PREFIX)


@per_trace
def operator_mask(trace: Trace) -> Bools:
    """Mask over slices of what counts as an operator (``docs/metrics.md#operators``); made once,
    read-only."""
    slices = trace.slices
    is_operator: Bools = slices["category"].to_numpy() == Category.OPERATOR
    ids = np.flatnonzero(is_operator)
    names = slices["name_code"].to_numpy()[ids]
    is_operator[ids] = map_names(trace, names, is_operator_name, np.bool_)
    is_operator.flags.writeable = False
    return is_operator
