"""Which data a recording has, by what is in its tables."""

from __future__ import annotations

from collections.abc import Callable

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def has_operators(trace: Trace) -> bool:
    """Whether operators are recorded, so that training and inference can be distinguished."""
    operators = [Category.OPERATOR, Category.PYTHON_OPERATOR]
    return bool(trace.slices["category"].is_in(operators).any())


def has_capability(trace: Trace, capability: str) -> bool | None:
    """Whether ``trace`` has data of the kind; None where its tables do not say: nothing of the
    kind need have happened.

    Args:
        trace: The recording.
        capability: As in ``trace.info.CAPABILITIES``, or another kind of recording.
    """
    return _HAS[capability](trace) if capability in _HAS else None


def _has_values(table: str, column: str) -> Callable[[Trace], bool]:
    return lambda trace: getattr(trace, table)[column].count() > 0


def _has_device_work(trace: Trace) -> bool:
    return not trace.device_work.is_empty()


_HAS: dict[str, Callable[[Trace], bool]] = {
    "operators": has_operators,
    "kernels": _has_device_work,
    "copies": _has_device_work,
    "occupancy": _has_device_work,
    "communication": _has_device_work,
    "runtime": _has_values("device_work", "launch"),
    "input_shapes": _has_values("operators", "input_shape_code"),
    "call_stacks": _has_values("operators", "call_stack_code"),
    "modules": _has_values("python", "module_id"),
    "memory": lambda trace: not trace.memory.is_empty(),
    "steps": _has_values("steps", "slice"),
}
"""Capability → whether a recording has it; of what a device did, whether its work was recorded."""
