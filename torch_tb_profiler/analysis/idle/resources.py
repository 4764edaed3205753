"""The resource breakdown: what each GPU and the host did, every moment counted once.

Definitions: ``docs/metrics.md#resources``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import Role, role_intervals
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Resource(IntEnum):
    """What a moment was spent on, strongest first."""

    TENSOR_CORE = 0
    OTHER_KERNELS = 1
    MEMORY = 2
    CPU = 3
    OTHER = 4


OF_DEVICE = (Resource.TENSOR_CORE, Resource.OTHER_KERNELS, Resource.MEMORY)
"""The resources that are known only with device work."""

_HOST_ROLES = (Role.RUNTIME, Role.DATALOADER, Role.CPU_EXEC)
_TIMED = len(Resource) - 1
NO_GPU = -1
"""The key of :func:`resource_intervals` where no device with a number ran work."""


def gpus_used(trace: Trace) -> list[int]:
    """The devices that ran work, ascending."""
    device = indices(trace.device_work["device"])
    used: list[int] = distinct_values(device[device >= 0]).tolist()
    return used


def unused_gpus(trace: Trace) -> int | None:
    """How many visible devices ran no work; None if other ranks of the job may use them: the
    recording says so, or its process has one device and communicates."""
    used = len(gpus_used(trace))
    unused = max(trace.devices.height - used, 0)
    ranks = world_size(trace)
    shares = ranks > 1 if ranks is not None else used == 1 and len(records(trace).record) > 0
    return None if unused and shares else unused


@per_trace
def host_active(trace: Trace) -> Intervals:
    """When the host was in an operator, a range, a device API call or a host collective."""
    rows = timed_on_host(trace)
    start = trace.slices["start_ns"].to_numpy()[rows]
    collectives = union(start, start + trace.slices["dur_ns"].to_numpy()[rows])
    roles = role_intervals(trace)
    return union_all(collectives, *(roles[role] for role in _HOST_ROLES))


@per_trace
def resource_intervals(trace: Trace) -> dict[int, tuple[Intervals, ...]]:
    """Per device that ran work, and per resource except ``OTHER``, when it was active and no
    stronger one was: these are disjoint. Without such a device, under :data:`NO_GPU`."""
    work, kinds = trace.device_work, kernel_kinds(trace)
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    uses = kinds.is_kernel & (kinds.tensor_core == codes.YES)
    resource_of = np.where(
        uses,
        Resource.TENSOR_CORE,
        np.where(kinds.is_kernel, Resource.OTHER_KERNELS, Resource.MEMORY),
    )
    by_gpu = {}
    for gpu in gpus_used(trace) or [NO_GPU]:
        on_gpu = device == gpu
        taken, parts = empty(), []
        for resource in OF_DEVICE:
            rows = np.flatnonzero(on_gpu & (resource_of == resource))
            active = union(start[rows], end[rows])
            parts.append(subtract(active, taken))
            taken = union_all(taken, active)
        by_gpu[gpu] = (*parts, subtract(host_active(trace), taken))
    return by_gpu


def resource_times(trace: Trace, gpu: int, start_ns: Int64, end_ns: Int64) -> Int64:
    """Time in ns per window (row) and :class:`Resource` (column) of one device; each row adds up to
    its window.

    Args:
        trace: The recording.
        gpu: A key of :func:`resource_intervals`.
        start_ns: Start of each window ``[start_ns[i], end_ns[i])``.
        end_ns: End of each.
    """
    times = np.empty((len(start_ns), len(Resource)), np.int64)
    for resource, intervals in enumerate(resource_intervals(trace)[gpu]):
        times[:, resource] = total_within(intervals, start_ns, end_ns)
    times[:, Resource.OTHER] = end_ns - start_ns - times[:, :_TIMED].sum(axis=1)
    return times


def mean_resource_times(trace: Trace, start_ns: Int64, end_ns: Int64) -> Float64:
    """The mean of :func:`resource_times` over the devices that ran work, in ns."""
    gpus = list(resource_intervals(trace))
    summed = np.sum([resource_times(trace, gpu, start_ns, end_ns) for gpu in gpus], axis=0)
    mean: Float64 = summed / len(gpus)
    return mean


def mean_of_visible(trace: Trace, start_ns: Int64, end_ns: Int64) -> Float64 | None:
    """The mean of :func:`resource_times` over all visible devices, summed over the windows, in ns;
    on unused ones the host or nothing was active. None if other ranks may use those."""
    unused = unused_gpus(trace)
    if unused is None:
        return None
    gpus = list(resource_intervals(trace))
    times = np.zeros(len(Resource))
    times[Resource.CPU] = unused * total_within(host_active(trace), start_ns, end_ns).sum()
    times[Resource.OTHER] = unused * (end_ns - start_ns).sum() - times[Resource.CPU]
    for gpu in gpus:
        times += resource_times(trace, gpu, start_ns, end_ns).sum(axis=0)
    mean: Float64 = times / (len(gpus) + unused)
    return mean


@per_trace
def _maybe_tensor_core(trace: Trace) -> dict[int, Intervals]:
    """Per key of :func:`resource_intervals` the part of ``OTHER_KERNELS`` in which a kernel ran
    that may use Tensor Cores: no rule knows it."""
    work, kinds = trace.device_work, kernel_kinds(trace)
    device = indices(work["device"])
    start, duration = work["start_ns"].to_numpy(), work["dur_ns"].to_numpy()
    is_unknown = kinds.is_kernel & (kinds.tensor_core == codes.UNKNOWN)
    maybe = {}
    for gpu, parts in resource_intervals(trace).items():
        rows = np.flatnonzero(is_unknown & (device == gpu))
        ran = union(start[rows], start[rows] + duration[rows])
        maybe[gpu] = intersect(parts[Resource.OTHER_KERNELS], ran)
    return maybe


def maybe_tensor_core_times(trace: Trace, gpu: int, start_ns: Int64, end_ns: Int64) -> Int64:
    """Per window the part of ``OTHER_KERNELS`` in :func:`resource_times`, in ns, that may be
    Tensor Core time, since a kernel ran that no rule knows."""
    return total_within(_maybe_tensor_core(trace)[gpu], start_ns, end_ns)


def unknown_resources(trace: Trace) -> dict[Resource, str]:
    """The resources that the recording does not hold, and why."""
    roles = unknown_roles(trace)
    unknown = dict.fromkeys(OF_DEVICE, roles[Role.KERNEL]) if Role.KERNEL in roles else {}
    if all(role in roles for role in _HOST_ROLES):
        unknown[Resource.CPU] = roles[Role.CPU_EXEC]
    elif Role.CPU_EXEC in roles and trace.device_work.is_empty():
        # Without operators and devices, the rest of the time is not what nothing was active in.
        unknown |= dict.fromkeys((Resource.CPU, Resource.OTHER), roles[Role.CPU_EXEC])
    if Role.OTHER in roles:
        unknown[Resource.OTHER] = roles[Role.OTHER]
    return unknown
