"""What the moments of a time were spent on, seen from each GPU: Tensor Core kernels, other kernels,
memory operations, the host, nothing; every moment once.

Definitions: ``docs/metrics.md#resources``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.roles import Role, role_intervals, slice_roles
from torch_tb_profiler.analysis.step_costs import unknown_roles
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Resource(IntEnum):
    """What a moment was spent on, strongest first."""

    TENSOR_CORE = 0
    OTHER_KERNELS = 1
    MEMORY = 2
    CPU = 3
    OTHER = 4


DEVICE_RESOURCES = (Resource.TENSOR_CORE, Resource.OTHER_KERNELS, Resource.MEMORY)
"""Resources that only device work tells about."""

UNKNOWN_DEVICE = -1
"""Stands for the GPU where the recording numbers none."""

_HOST_ROLES = (Role.RUNTIME, Role.DATALOADER, Role.CPU_EXEC)


@dataclass(frozen=True, slots=True, eq=False)
class GpuResources:
    """The moments of one GPU.

    Attributes:
        exclusive: Per :class:`Resource` but OTHER when it was the strongest; disjoint.
        unknown: The part of other kernels in which one ran of which no rule knows whether it uses
            Tensor Cores.
    """

    exclusive: tuple[Intervals, ...]
    unknown: Intervals


@dataclass(frozen=True, slots=True, eq=False)
class ResourceCosts:
    """Times in ns within windows.

    Attributes:
        gpus: Numbers of the GPUs; empty without device work, then the host alone is told.
        per_gpu_ns: GPU × window × :class:`Resource`; adds up to the length of the window. Without
            GPUs the first axis has one element.
        unknown_ns: GPU × window: the part of other kernels that may be Tensor Core time.
    """

    gpus: tuple[int, ...]
    per_gpu_ns: Int64
    unknown_ns: Int64

    @property
    def mean_ns(self) -> Float64:
        """Window × :class:`Resource`: the mean over the GPUs."""
        mean: Float64 = self.per_gpu_ns.sum(axis=0) / len(self.per_gpu_ns)
        return mean

    @property
    def mean_unknown_ns(self) -> Float64:
        """Per window the mean of :attr:`unknown_ns` over the GPUs."""
        mean: Float64 = self.unknown_ns.sum(axis=0) / len(self.unknown_ns)
        return mean


def resource_costs(trace: Trace, start_ns: Int64, end_ns: Int64) -> ResourceCosts:
    """The times of every GPU that ran work, within the windows ``[start_ns[i], end_ns[i])``, which
    may overlap and come in any order."""
    of_gpus = gpu_resources(trace)
    parts = list(of_gpus.values()) or [_without_device(trace)]
    length = np.maximum(end_ns - start_ns, 0)
    costs = np.empty((len(parts), len(start_ns), len(Resource)), np.int64)
    unknown = np.empty((len(parts), len(start_ns)), np.int64)
    for place, part in enumerate(parts):
        for resource, intervals in enumerate(part.exclusive):
            costs[place, :, resource] = total_within(intervals, start_ns, end_ns)
        costs[place, :, Resource.OTHER] = length - costs[place, :, : Resource.OTHER].sum(axis=1)
        unknown[place] = total_within(part.unknown, start_ns, end_ns)
    return ResourceCosts(tuple(of_gpus), costs, unknown)


@per_trace
def gpu_resources(trace: Trace) -> dict[int, GpuResources]:
    """The moments of every GPU that ran work, by its number (:data:`UNKNOWN_DEVICE` where the
    recording numbers none); made once."""
    work, kinds = trace.device_work, kernel_kinds(trace)
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    is_tensor_core = kinds.is_kernel & (kinds.tensor_core == codes.YES)
    is_unknown = kinds.is_kernel & (kinds.tensor_core == codes.UNKNOWN)
    host = host_work(trace)
    gpus = np.unique(device).tolist()
    known = [gpu for gpu in gpus if gpu >= 0]
    of_gpus = {}
    for gpu in known or gpus:
        mine = device == gpu

        def when(rows: Bools, mine: Bools = mine) -> Intervals:
            chosen = np.flatnonzero(mine & rows)
            return union(start[chosen], end[chosen])

        active = (when(is_tensor_core), when(kinds.is_kernel), when(~kinds.is_kernel), host)
        exclusive = _exclusive(active)
        unknown = intersect(exclusive[Resource.OTHER_KERNELS], when(is_unknown))
        of_gpus[gpu] = GpuResources(exclusive, unknown)
    return of_gpus


@per_trace
def host_work(trace: Trace) -> Intervals:
    """When the host was in an operator, a range, a call of a device's API, loaded data or ran a
    collective itself; made once."""
    by_role = role_intervals(trace)
    communicates = slice_roles(trace) == Role.COMMUNICATION
    rows = np.flatnonzero(communicates & (trace.slices["category"].to_numpy() != Category.KERNEL))
    start = trace.slices["start_ns"].to_numpy()[rows]
    ranges = union(start, start + trace.slices["dur_ns"].to_numpy()[rows])
    return union_all(*(by_role[role] for role in _HOST_ROLES), ranges)


@per_trace
def unknown_resources(trace: Trace) -> dict[Resource, str]:
    """The resources this recording says nothing about, and why."""
    unknown: dict[Resource, str] = {}
    of_roles = unknown_roles(trace)
    if (reason := of_roles.get(Role.KERNEL)) is not None:
        unknown |= dict.fromkeys(DEVICE_RESOURCES, reason)
    if Role.CPU_EXEC in of_roles and not len(host_work(trace).start_ns):
        unknown[Resource.CPU] = of_roles[Role.CPU_EXEC]
    return unknown


def _without_device(trace: Trace) -> GpuResources:
    nothing = empty()
    return GpuResources((nothing, nothing, nothing, host_work(trace)), nothing)


def _exclusive(active: tuple[Intervals, ...]) -> tuple[Intervals, ...]:
    """Each of ``active`` without those before it."""
    taken = empty()
    parts = []
    for intervals in active:
        parts.append(subtract(intervals, taken))
        taken = union_all(taken, intervals)
    return tuple(parts)
