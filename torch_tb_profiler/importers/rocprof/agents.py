"""Reads what the recorder writes of an agent: a processor or a GPU, with its properties.

The JSON files have a list of such objects, a rocpd database one in each row of its agents.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from torch_tb_profiler.importers.rocprof.recording import Agent
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES

GPU = 2
"""``type`` of an agent that is a GPU."""

MAX_NAME_CHARS = 200
_VERSION_MAJOR, _VERSION_MINOR = 10_000, 100
_DEVICE_MEMORY = (1, 2)
"""``heap_type`` of memory of the GPU (visible to the host, and not)."""
_KIB = 1024


class Handle(Struct, gc=False):
    """An id in an object of its own."""

    handle: Any = ABSENT


class _MemoryBank(Struct, gc=False):
    heap_type: Any = 0
    size_in_bytes: Any = 0


class AgentRecord(Struct, gc=False):
    """An agent as the recorder writes it; see ``rocprofiler_agent_t`` of ROCprofiler-SDK."""

    id: Handle = field(default_factory=Handle)
    type: Any = None
    name: Any = None
    product_name: Any = None
    node_id: Any = None
    logical_node_type_id: Any = None
    cu_count: Any = None
    simd_per_cu: Any = None
    max_waves_per_simd: Any = None
    max_waves_per_cu: Any = None
    wave_front_size: Any = None
    lds_size_in_kb: Any = None
    workgroup_max_size: Any = None
    gfx_target_version: Any = None
    mem_banks: list[_MemoryBank] = []


DECODER = msgspec.json.Decoder(AgentRecord)
LIST_DECODER = msgspec.json.Decoder(list[AgentRecord])


def decode_agent(text: str) -> AgentRecord:
    """The agent in a text; one without properties if the text is damaged."""
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return AgentRecord()


def is_gpu(record: AgentRecord) -> bool:
    """Whether it is a GPU; old files say so by its compute units only."""
    return record.type == GPU or (record.type is None and bool(count(record.simd_per_cu)))


def agent_of(record: AgentRecord, node: str, number: int | None) -> Agent:
    """The agent of a record.

    Args:
        record: The record.
        node: The machine.
        number: Its number among the GPUs, if the record has none.
    """
    own = record.logical_node_type_id
    has_own = isinstance(own, int) and 0 <= own < MAX_DEVICES
    return Agent(
        is_gpu(record),
        node,
        own if has_own else number,
        name_of(record.product_name, record.name),
        properties_of(record),
    )


def name_of(*names: Any) -> str | None:
    """The first of several names that is one."""
    texts = (each.partition("\0")[0][:MAX_NAME_CHARS] for each in names if isinstance(each, str))
    return next((each for each in texts if each), None)


def properties_of(record: AgentRecord) -> dict[str, int]:
    """The properties of a GPU by the names of ``DeviceInfo``; those that are known."""
    wave = count(record.wave_front_size)
    waves = count(record.max_waves_per_cu)
    if waves is None and (per_simd := count(record.max_waves_per_simd)):
        waves = per_simd * (count(record.simd_per_cu) or 0)
    version = count(record.gfx_target_version)
    lds_kib = count(record.lds_size_in_kb)
    banks = [
        count(bank.size_in_bytes) or 0
        for bank in record.mem_banks
        if bank.heap_type in _DEVICE_MEMORY
    ]
    values = {
        "memory_bytes": sum(banks) or None,
        "compute_major": version and version // _VERSION_MAJOR,
        "compute_minor": version and version % _VERSION_MAJOR // _VERSION_MINOR,
        "sm_count": count(record.cu_count),
        "max_threads_per_sm": waves * wave if waves and wave else None,
        "max_threads_per_block": count(record.workgroup_max_size),
        "warp_size": wave,
        "shared_memory_per_sm_bytes": lds_kib and lds_kib * _KIB,
        "shared_memory_per_block_bytes": lds_kib and lds_kib * _KIB,
    }
    return {key: value for key, value in values.items() if value is not None and value <= MAX_BYTES}


def count(value: Any) -> int | None:
    """A positive whole number, None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value <= MAX_BYTES else None
