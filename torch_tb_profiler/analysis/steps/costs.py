"""What each step was spent on: its time by role, every moment once.

Definitions: ``docs/metrics.md#overview``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals, subtract, total_within, union
from torch_tb_profiler.analysis.communication.calls import host_calls
from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.communication.roles import (
    OPERATORS,
    TIMED_ROLES,
    Role,
    exclusive_intervals,
    role_intervals,
)
from torch_tb_profiler.analysis.recording.missing_reasons import recorded_reason
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

WORK_ROLES = (Role.KERNEL, Role.MEMCPY, Role.MEMSET)
"""Roles that only device work tells about."""

COPY_ROLES = {Role.MEMCPY: Category.MEMCPY, Role.MEMSET: Category.MEMSET}

HOST_ROLES = (Role.DATALOADER, Role.CPU_EXEC)
"""Roles that only operators and ranges of the host tell about."""

NO_DEVICE = "The recording holds no device work and no device API calls."
NO_WORK = "The recording holds launches of device work, but nothing of that work."
NO_CALLS = "The recording holds device work, but no device API calls of the host."
NO_HOST = "The recording holds no operators and ranges of the host; Other holds their time."

NO_TRANSFERS = (
    "Collectives were called, but the device work that runs them is not in the recording."
)

_HOST_CATEGORIES = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.ANNOTATION,
    Category.DATALOADER,
    Category.OPTIMIZER,
)

_WORK_CATEGORIES = (*OPERATORS, Category.OPTIMIZER)
"""What tells of work of the host where a recording holds no operators for a reason of its own."""

_HOST_WORK = (Role.CPU_EXEC, Role.COMMUNICATION)
"""Roles that operators tell about; the second one only where no device communicates."""


def role_costs(trace: Trace, windows: StepWindows) -> Int64:
    """Time in ns per step (row) and :class:`Role` (column); each row adds up to its step."""
    costs = np.empty((len(windows.names), len(Role)), np.int64)
    for role, intervals in zip(TIMED_ROLES, exclusive_intervals(trace), strict=True):
        costs[:, role] = total_within(intervals, windows.start_ns, windows.end_ns)
    timed = costs[:, : len(TIMED_ROLES)].sum(axis=1)
    costs[:, Role.OTHER] = windows.end_ns - windows.start_ns - timed
    return costs


def range_costs(trace: Trace, windows: StepWindows) -> Int64:
    """Time in ns per step of :data:`Role.CPU_EXEC` in ranges alone, while no operator ran."""
    return total_within(_ranges_alone(trace), windows.start_ns, windows.end_ns)


@per_trace
def _ranges_alone(trace: Trace) -> Intervals:
    rows = np.flatnonzero(np.isin(trace.slices["category"].to_numpy(), OPERATORS))
    start = trace.slices["start_ns"].to_numpy()[rows]
    operators = union(start, start + trace.slices["dur_ns"].to_numpy()[rows])
    return subtract(exclusive_intervals(trace)[Role.CPU_EXEC], operators)


@per_trace
def unknown_roles(trace: Trace) -> dict[Role, str]:
    """The roles this recording says nothing about, and why."""
    if trace.meta.format == "snapshot":
        # Its ranges say when memory changed, nothing of what ran.
        return dict.fromkeys(Role, recorded_reason(trace, "operators") or NO_HOST)
    present = np.bincount(trace.slices["category"].to_numpy(), minlength=len(Category))
    unknown: dict[Role, str] = {}
    if trace.device_work.is_empty():
        if trace.quality.counts.get("launch_without_kernel"):
            unknown |= dict.fromkeys(WORK_ROLES, NO_WORK)
        elif not present[Category.RUNTIME]:
            unknown |= dict.fromkeys((*WORK_ROLES, Role.RUNTIME), NO_DEVICE)
    elif not present[Category.RUNTIME]:
        unknown[Role.RUNTIME] = NO_CALLS
    reason = communication_certainty(trace).null_reason
    if reason is not None:
        unknown[Role.COMMUNICATION] = reason
    if len(host_calls(trace)) and not len(role_intervals(trace)[Role.COMMUNICATION].start_ns):
        unknown[Role.COMMUNICATION] = NO_TRANSFERS
    if present.any() and not present[list(_HOST_CATEGORIES)].any():
        unknown |= dict.fromkeys(HOST_ROLES, NO_HOST)
        if trace.device_work.is_empty():
            unknown[Role.COMMUNICATION] = NO_HOST
    no_loading = recorded_reason(trace, "data_loading")
    if no_loading is not None and not present[Category.DATALOADER]:
        unknown.setdefault(Role.DATALOADER, no_loading)
    no_copies = recorded_reason(trace, "copies")
    if no_copies is not None:
        absent = [role for role, category in COPY_ROLES.items() if not present[category]]
        unknown = dict.fromkeys(absent, no_copies) | unknown
    own = recorded_reason(trace, "operators")
    if own is not None and not present[list(_WORK_CATEGORIES)].any():
        roles = _HOST_WORK if trace.device_work.is_empty() else _HOST_WORK[:1]
        unknown |= dict.fromkeys(roles, own)
    return unknown


def unknown_reason(unknown: dict[Role, str]) -> str | None:
    """The reasons of :func:`unknown_roles` as one text, each once; None when all is known."""
    return " ".join(dict.fromkeys(unknown.values())) or None
