"""What a moment was spent on: the intervals of each role, every moment counted once.

Roles and their priority: ``docs/metrics.md#categories``. The roles of a stretch of time always add
up to its length; copies of ranges on the device are not device work.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked, with_ancestors
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.range_domains import ranges_of_devices
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Role(IntEnum):
    """What a moment was spent on, strongest first."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    COMMUNICATION = 3
    RUNTIME = 4
    DATALOADER = 5
    CPU_EXEC = 6
    OTHER = 7


ROLE_TITLES = {
    Role.KERNEL: "Kernel",
    Role.MEMCPY: "Memcpy",
    Role.MEMSET: "Memset",
    Role.COMMUNICATION: "Communication",
    Role.RUNTIME: "Runtime",
    Role.DATALOADER: "DataLoader",
    Role.CPU_EXEC: "CPU Exec",
    Role.OTHER: "Other",
}
"""The roles as users read them."""

TIMED_ROLES = tuple(role for role in Role if role is not Role.OTHER)
"""The roles that have intervals; Other is the rest of a step."""

_ROLE_OF_CATEGORY = {
    Category.KERNEL: Role.KERNEL,
    Category.MEMCPY: Role.MEMCPY,
    Category.MEMSET: Role.MEMSET,
    Category.RUNTIME: Role.RUNTIME,
    Category.DATALOADER: Role.DATALOADER,
    Category.OPERATOR: Role.CPU_EXEC,
    Category.PYTHON_OPERATOR: Role.CPU_EXEC,
    Category.ANNOTATION: Role.CPU_EXEC,
    Category.OPTIMIZER: Role.CPU_EXEC,
}

OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)
"""Categories of host slices that are operators, not ranges around them."""

_RANGES = (Category.ANNOTATION, Category.DATALOADER, Category.OPTIMIZER)


@per_trace
def slice_roles(trace: Trace) -> Int8:
    """Per slice its :class:`Role`; ``OTHER`` for slices without one (steps, Python frames, …)."""
    role_of = np.full(len(Category), Role.OTHER, np.int8)
    for category, role in _ROLE_OF_CATEGORY.items():
        role_of[category] = role
    roles: Int8 = role_of[trace.slices["category"].to_numpy()]
    roles[ranges_of_devices(trace)] = Role.OTHER
    roles[timed_on_host(trace)] = Role.COMMUNICATION
    work = trace.device_work["slice"].to_numpy()
    roles[work[kernel_kinds(trace).is_communication]] = Role.COMMUNICATION
    return roles


@per_trace
def role_intervals(trace: Trace) -> tuple[Intervals, ...]:
    """Per timed role, when it was active: the union of its slices."""
    roles = slice_roles(trace)
    start = trace.slices["start_ns"].to_numpy()
    dur = trace.slices["dur_ns"].to_numpy()
    by_role = []
    for role in TIMED_ROLES:
        rows = np.flatnonzero(roles == role)
        by_role.append(union(start[rows], start[rows] + dur[rows]))
    return tuple(by_role)


@per_trace
def exclusive_intervals(trace: Trace) -> tuple[Intervals, ...]:
    """Per timed role, when it was active and no stronger role was: these are disjoint."""
    taken = empty()
    by_role = []
    for intervals in role_intervals(trace):
        by_role.append(subtract(intervals, taken))
        taken = union_all(taken, intervals)
    return tuple(by_role)


def computation(trace: Trace) -> Intervals:
    """When a worker computed (``docs/metrics.md#computation-and-communication``): during its
    kernels without communication; where it has no such kernel, during the host operators that
    neither communicate nor wait for communication."""
    kernels = role_intervals(trace)[Role.KERNEL]
    return kernels if len(kernels.start_ns) else host_computation(trace)


@per_trace
def host_computation(trace: Trace) -> Intervals:
    """When host operators ran that are not part of a collective and contain neither a range nor a
    call of one: an operator around these may do nothing but wait."""
    category = trace.slices["category"].to_numpy()
    parent = indices(trace.slices["parent"])
    operators = np.isin(category, OPERATORS)
    rows = np.flatnonzero(operators)
    names = trace.slices["name_code"].to_numpy()[rows]
    calls = rows[codes.names_match(trace, names, communication.is_wrapper)]
    transfers = slice_roles(trace) == Role.COMMUNICATION
    ranges = np.flatnonzero(np.isin(category, _RANGES) | transfers)
    operators[with_ancestors(np.concatenate((calls, ranges)), parent)] = False
    operators &= nearest_marked(parent, transfers) < 0
    start = trace.slices["start_ns"].to_numpy()[operators]
    return union(start, start + trace.slices["dur_ns"].to_numpy()[operators])
