"""What the user's own rules and ours say of a name of a kernel, for one trace.

The rules belong to the trace: whoever opens it provides them, so that everything that is derived
from it follows from the same rules. Other rules mean another trace object of the same tables.
"""

from __future__ import annotations

from torch_tb_profiler.knowledge import kernels
from torch_tb_profiler.knowledge.kernel_dtypes import types_in_name
from torch_tb_profiler.knowledge.user_rules import NO_RULES, UserRules, kind_by_user
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def user_rules(trace: Trace) -> UserRules:  # noqa: ARG001 - provided where there are any
    """The user's rules that the trace was opened with; none unless they were provided."""
    return NO_RULES


def kernel_kind(trace: Trace, name: str) -> kernels.KernelKind:
    """The kind of a kernel by the user's rules, else by ours."""
    return kind_by_user(user_rules(trace), name) or kernels.classify(name)


def kernel_types(trace: Trace, name: str) -> tuple[str, ...]:
    """The element types of a kernel, widest first: the one that a rule of the user states, else
    those in its name; empty if there are none."""
    own = kind_by_user(user_rules(trace), name)
    return types_in_name(name) if own is None or own.dtype is None else (own.dtype,)
