"""The memory records of a trace, prepared once: devices named, owners found, releases paired."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize_rows
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.memory.owners import OwnerLabels, module_labels, operator_labels
from torch_tb_profiler.analysis.memory.pairs import Pairs, pair
from torch_tb_profiler.analysis.memory.shared import uncounted
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.knowledge.devices import (
    CPU_TYPE,
    GPU_TYPES,
    PRIVATE_USE_TYPE,
    device_type_name,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.model import Trace

SHARED = "CPU shared"
"""The host's memory that several processes share, by which loader workers hand over batches."""


class MemoryDevice(Struct, frozen=True):
    """A device with memory records.

    Attributes:
        label: Its name for people (``GPU 0``, ``CPU``).
        type: Its c10 type.
        id: Its number.
        is_of_kernels: Whether kernels that run on it carry that number: not the host's memory, nor
            a device of which nothing tells what number kernels give it.
    """

    label: str
    type: int
    id: int
    is_of_kernels: bool


class MemoryRecords(Struct, frozen=True, eq=False):
    """Memory records in order of time; out-of-memory events are left out.

    Attributes:
        devices: Devices, accelerators first; :data:`SHARED` last.
        device: Index into ``devices`` of each record.
        time_ns: When.
        process: Number of the host process, -1 if the file does not name it.
        size_bytes: Positive for allocations, negative for releases.
        allocated_bytes: Total allocated on the device after it, :data:`ABSENT` if not given, or
            given as a 0 that cannot be.
        reserved_bytes: Total reserved likewise; :data:`ABSENT` too where the allocator of a device
            reserves nothing beyond what it allocates (it says 0 throughout, as torch's CPU one).
        operator: Slice of the operator it happened in, -1 if in none.
        pairs: Which release frees which allocation.
        operators: Name of the operator of each record, as shown for allocations.
        modules: Path of the module of each record.
        has_addresses: False before torch 1.10.
    """

    devices: list[MemoryDevice]
    device: Int64
    time_ns: Int64
    process: Int64
    size_bytes: Int64
    allocated_bytes: Int64
    reserved_bytes: Int64
    operator: Int64
    pairs: Pairs
    operators: OwnerLabels
    modules: OwnerLabels
    has_addresses: bool

    @property
    def has_totals(self) -> Bools:
        """Mask of records that say how much is allocated on their device."""
        mask: Bools = self.allocated_bytes != ABSENT
        return mask


@per_trace
def memory_records(trace: Trace) -> MemoryRecords:
    """The records of ``trace``; made once."""
    memory = trace.memory.filter(trace.memory["is_oom"].fill_null(0) != 1)
    devices, device = _devices(
        memory["device_type"].fill_null(ABSENT).to_numpy(),
        indices(memory["device"]),
        is_matched="device_numbers_unmatched" not in trace.quality.counts,
        private_use=recorder(trace).private_use,
    )
    size = _credible(memory["bytes"], 0, -MAX_BYTES)
    allocated = _credible(memory["total_allocated_bytes"], ABSENT, 0)
    reserved = _credible(memory["total_reserved_bytes"], ABSENT, 0)
    address = memory["address"].fill_null(ABSENT).to_numpy()
    usable = memory["address"].is_not_null().to_numpy()
    process = indices(trace.tracks["process"].gather(memory["track"]))
    owner, frame = indices(memory["owner"]), indices(memory["frame"])
    operator = _operator(trace, owner)
    device_key = device + len(devices) * (process + 1)
    pairs = pair(device_key, address, size, usable)
    no_total = uncounted(device_key, size, allocated, pairs)
    allocated[no_total] = reserved[no_total] = ABSENT
    devices, device = _with_shared(devices, device, no_total)
    return MemoryRecords(
        devices=devices,
        device=device,
        time_ns=memory["time_ns"].to_numpy(),
        process=process,
        size_bytes=size,
        allocated_bytes=allocated,
        reserved_bytes=_reserved(device, reserved, len(devices)),
        operator=operator,
        pairs=pairs,
        operators=operator_labels(trace, operator),
        modules=module_labels(trace, owner, frame),
        has_addresses=bool(usable.any()),
    )


def _credible(values: pl.Series, otherwise: int, least: int) -> Int64:
    """``values`` with ``otherwise`` for those that are absent or cannot be a size in memory."""
    given = values.fill_null(ABSENT).to_numpy()
    credible: Int64 = np.where((given >= least) & (given <= MAX_BYTES), given, otherwise)
    return credible


def _reserved(device: Int64, reserved: Int64, devices: int) -> Int64:
    """``reserved`` without the zeros of devices that never say anything else."""
    reserves = np.zeros(devices, np.bool_)
    reserves[device[reserved > 0]] = True
    known: Int64 = np.where(reserves[device], reserved, ABSENT)
    return known


def _with_shared(
    devices: list[MemoryDevice], device: Int64, no_total: Bools
) -> tuple[list[MemoryDevice], Int64]:
    """The devices, and of each record its own, with the host's memory that its allocator does not
    count as a device of its own."""
    of_host = np.array([one.type == CPU_TYPE for one in devices], np.bool_)
    is_shared = no_total & of_host[device]
    if not is_shared.any():
        return devices, device
    shared = MemoryDevice(SHARED, CPU_TYPE, -1, False)
    device = np.where(is_shared, len(devices), device)
    is_present = np.bincount(device, minlength=len(devices) + 1) > 0
    used = [one for one, present in zip((*devices, shared), is_present, strict=True) if present]
    return used, (np.cumsum(is_present) - 1)[device]


def _devices(
    kind: Int64, number: Int64, *, is_matched: bool, private_use: str | None
) -> tuple[list[MemoryDevice], Int64]:
    """The devices of the records and each record's index among them."""
    if not len(kind):
        return [], np.empty(0, np.int64)
    first, inverse = factorize_rows(kind, number)
    keys = np.stack((kind, number))[:, first]
    # Accelerators before the CPU, as people come for them.
    order = np.argsort(keys[0] == CPU_TYPE, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return _named(keys[:, order].T.tolist(), is_matched, private_use), rank[inverse]


def _named(
    keys: list[tuple[int, int]], is_matched: bool, private_use: str | None
) -> list[MemoryDevice]:
    """Devices by (type, id); ``GPU`` stands for CUDA and HIP unless both have that number."""
    named: dict[str, MemoryDevice] = {}
    for kind, number in keys:
        type_name = "unknown device" if kind == ABSENT else device_type_name(kind)
        suffix = "" if kind == CPU_TYPE else f" {number}"
        if kind == PRIVATE_USE_TYPE and private_use is not None:
            type_name = private_use
        label = ("GPU" if kind in GPU_TYPES else type_name) + suffix
        if label in named:
            label = f"{type_name} {number}"
        if kind != CPU_TYPE and not is_matched:
            label = f"torch {label}"
        named[label] = MemoryDevice(label, kind, number, kind != CPU_TYPE and is_matched)
    return list(named.values())


def _operator(trace: Trace, owner: Int64) -> Int64:
    """The operator each record is credited to: its innermost node, looking through user ranges.

    A record directly in a step, a data loader or an optimizer is credited to nobody
    (``docs/views-memory.md#how-it-is-counted``); one in a collapsed double to the operator that
    absorbed it.
    """
    category = trace.slices["category"].to_numpy()
    parent = indices(trace.slices["parent"])
    node = gather(nearest_marked(parent, category != Category.ANNOTATION), owner)
    node = np.where(gather(operator_mask(trace).astype(np.int64), node) == 1, node, -1)
    absorbed = indices(trace.slices["absorbed_into"])
    return gather(nearest_marked(absorbed, absorbed < 0), node)
