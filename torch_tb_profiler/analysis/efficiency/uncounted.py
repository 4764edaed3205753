"""Device time in kernels that may be products of the model, but whose FLOPs nothing tells.

Definitions: ``docs/views-efficiency.md#mfu``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.knowledge.kernels import KernelKind
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


def uncounted_pct(trace: Trace, selection: Selection) -> float | None:
    """Percent of the time of kernels other than communication that is in uncounted ones, over the
    steps that MFU is over; None where no such kernel ran.

    Raises:
        SelectionError: the selection makes no sense for this trace.
    """
    windows = step_windows(trace, selection).of_averages
    kinds = kernel_kinds(trace)
    chosen = np.append(windows.of_step, -1)[device_work_steps(trace)] >= 0
    chosen &= kinds.is_kernel & ~kinds.is_communication
    dur_ns = trace.device_work["dur_ns"].to_numpy()
    whole = int(dur_ns[chosen].sum())
    return int(dur_ns[chosen & _is_uncounted(trace)].sum()) / whole * 100 if whole else None


@per_trace
def _is_uncounted(trace: Trace) -> Bools:
    """Per row of device work whether its kernel may be a product, and is of no call with FLOPs."""
    calls = holding_calls(trace)
    has_flops = np.zeros(operator_calls(trace).height + 1, np.bool_)
    has_flops[calls.row] = ~np.isnan(calls.flops)
    names = trace.device_work["name_code"].to_numpy()
    may_be = kernel_name_kinds(trace).verdicts(names, _may_be_product) == codes.YES
    uncounted: Bools = may_be & ~has_flops[work_holders(trace)]
    return uncounted


def _may_be_product(kind: KernelKind) -> int:
    is_unknown = kind.kind == "other" and kind.tensor_core is not False
    return codes.verdict(is_unknown or kind.kind in efficiency_file().product_kinds)
