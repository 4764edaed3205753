"""Convolutions that kernels compute with fewer operations than their definition has.

Definitions: ``docs/views-efficiency.md#roofline``.
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.knowledge.formulas import KINDS
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def makes_fewer_operations(trace: Trace) -> Bools:
    """Per call of ``holding_calls`` whether it is a convolution of which the name of a kernel says
    that Winograd's or Fourier's method computed it: its FLOPs are more than the device made."""
    calls = holding_calls(trace)
    pattern = re.compile(efficiency_file().fewer_operations_kernels)
    names = trace.device_work["name_code"].to_numpy()
    matches = codes.map_names(trace, names, lambda name: pattern.search(name) is not None, np.bool_)
    is_reduced = np.zeros(operator_calls(trace).height + 1, np.bool_)
    is_reduced[work_holders(trace)[matches]] = True
    is_reduced[-1] = False  # work that no call holds
    of_calls: Bools = is_reduced[calls.row] & (calls.kind == KINDS.index("convolution"))
    return of_calls
