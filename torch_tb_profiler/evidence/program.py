"""The kind of program in a trace: training or inference, distributed or not, compiled or not."""

from __future__ import annotations

import re

from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

TRAINING = re.compile(
    r"Backward\d*$|^autograd::engine|^Optimizer\.step|[bB]ackward_kernel|_bwd_|[dw]grad|"
    r"Fused(Adam|Sgd|SGD|Adagrad)"
)
"""Names of operators, ranges and kernels that occur only in training."""

COMPILED = re.compile(
    r"^triton_(poi|red|per|for|tem)_fused|^Torch-Compiled Region|^CompiledFunction|"
    r"CompiledFxGraph|^## Call Compiled"
)
"""Names of compiled code, on host and device."""


DISTRIBUTED = re.compile(
    r"^(nn\.Module: )?(DistributedDataParallel|FullyShardedDataParallel|DeepSpeedEngine)|"
    r"^FSDP::|^PP:\d|torch\.distributed\.(ddp|fsdp)\b"
)
"""Names of ranges and modules of distributed training; a step that only accumulates gradients has
them without collectives."""


@per_trace
def is_training(trace: Trace) -> bool:
    """Whether anything in the recording belongs to a backward pass or an optimizer."""
    return _any_name(trace, TRAINING)


@per_trace
def is_distributed(trace: Trace) -> bool:
    """Whether a wrapper for distributed training is recorded."""
    return _any_name(trace, DISTRIBUTED)


@per_trace
def is_compiled(trace: Trace) -> bool:
    """Whether some of the code was compiled by torch.compile."""
    return _any_name(trace, COMPILED)


def _any_name(trace: Trace, pattern: re.Pattern[str]) -> bool:
    names = trace.slices["name_code"].unique()
    return any(pattern.search(str(trace.strings[code])) for code in names.to_list())
