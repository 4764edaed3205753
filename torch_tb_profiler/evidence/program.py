"""What kind of program a trace is of, as far as advice differs: whether it trains, whether several
processes do, and whether torch.compile made its kernels."""

from __future__ import annotations

import re

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

TRAINING = re.compile(
    r"Backward\d*$|^autograd::engine|^Optimizer\.step|[bB]ackward_kernel|_bwd_|[dw]grad|"
    r"Fused(Adam|Sgd|SGD|Adagrad)"
)
"""Names of operators, ranges and kernels that only training has."""

COMPILED = re.compile(
    r"^triton_(poi|red|per|for|tem)_fused|^Torch-Compiled Region|^CompiledFunction|"
    r"CompiledFxGraph|^## Call Compiled"
)
"""Names of what torch.compile makes, on host and device."""


DISTRIBUTED = re.compile(
    r"^(nn\.Module: )?(DistributedDataParallel|FullyShardedDataParallel|DeepSpeedEngine)|"
    r"^FSDP::|^PP:\d|torch\.distributed\.(ddp|fsdp)\b"
)
"""Names of ranges and modules of a training that several processes share; a step that only
accumulates gradients has them and no collectives."""


@per_trace
def trains(trace: Trace) -> bool:
    """Whether anything in the recording belongs to a backward pass or an optimizer."""
    return _any(trace, TRAINING)


@per_trace
def tells_use(trace: Trace) -> bool:
    """Whether operators are recorded, which tell a training from an inference."""
    operators = [Category.OPERATOR, Category.PYTHON_OPERATOR]
    return bool(trace.slices["category"].is_in(operators).any())


@per_trace
def is_distributed(trace: Trace) -> bool:
    """Whether something that joins several processes ran."""
    return _any(trace, DISTRIBUTED)


@per_trace
def is_compiled(trace: Trace) -> bool:
    """Whether torch.compile made some of what ran."""
    return _any(trace, COMPILED)


def _any(trace: Trace, pattern: re.Pattern[str]) -> bool:
    names = trace.slices["name_code"].unique()
    return any(pattern.search(str(trace.strings[code])) for code in names.to_list())
