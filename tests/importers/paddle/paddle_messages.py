"""Paddle's messages as classes of ``google.protobuf``, and what a file of them sums to.

Names and numbers of fields are those of Paddle's ``nodetree.proto``. The sums share no code with
the importer, which is compared with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.helpers.protobuf_classes import message_classes
from tests.helpers.sums import Sums, add_up

TYPES = (
    "Operator", "Dataloader", "ProfileStep", "CudaRuntime", "Kernel", "Memcpy", "Memset",
    "UserDefined", "OperatorInner", "Forward", "Backward", "Optimization", "Communication",
    "PythonOp", "PythonUserDefined",
)  # fmt: skip
WORK = {TYPES.index(name): name.upper() for name in ("Kernel", "Memcpy", "Memset")}
ALLOCATE, FREE = 0, 1

MESSAGES = """
NodeTreesProto: 1 string version, 2 uint32 span_indx, 3 repeated ThreadNodeTreeProto thread_trees,
  5 repeated DevicePropertyProto device_property
DevicePropertyProto: 1 uint32 id, 2 string name, 3 uint64 total_global_mem
ThreadNodeTreeProto: 1 uint64 thread_id, 2 repeated HostTraceEventNodeProto host_nodes
HostTraceEventNodeProto: 1 int64 id, 2 int64 parentid, 3 HostTraceEventProto host_trace_event,
  4 repeated CudaRuntimeTraceEventNodeProto runtime_nodes,
  5 repeated MemTraceEventNodeProto mem_nodes
HostTraceEventProto: 1 string name, 2 uint32 type, 3 uint64 start_ns, 4 uint64 end_ns,
  5 uint64 process_id, 6 uint64 thread_id
CudaRuntimeTraceEventNodeProto: 1 CudaRuntimeTraceEventProto runtime_trace_event,
  2 repeated DeviceTraceEventNodeProto device_nodes
CudaRuntimeTraceEventProto: 1 string name, 2 uint64 start_ns, 3 uint64 end_ns, 4 uint64 process_id,
  5 uint64 thread_id, 6 uint32 correlation_id, 7 uint32 callback_id
DeviceTraceEventNodeProto: 1 DeviceTraceEventProto device_event
DeviceTraceEventProto: 1 string name, 2 uint32 type, 3 uint64 start_ns, 4 uint64 end_ns,
  5 uint64 device_id, 6 uint64 context_id, 7 uint64 stream_id, 8 uint32 correlation_id,
  9 KernelEventInfoProto kernel_info, 10 MemcpyEventInfoProto memcpy_info
KernelEventInfoProto: 1 uint32 block_x, 2 uint32 block_y, 3 uint32 block_z, 4 uint32 grid_x,
  5 uint32 grid_y, 6 uint32 grid_z, 7 uint32 dynamic_shared_memory, 8 uint32 static_shared_memory,
  9 uint32 registers_per_thread, 15 float blocks_per_sm, 16 float warps_per_sm
MemcpyEventInfoProto: 1 uint64 num_bytes
MemTraceEventNodeProto: 1 MemTraceEventProto mem_event
MemTraceEventProto: 1 uint64 timestamp_ns, 2 uint32 type, 3 uint64 addr, 4 uint64 process_id,
  5 uint64 thread_id, 6 int64 increase_bytes, 7 string place, 8 uint64 current_allocated,
  9 uint64 current_reserved, 10 uint64 peak_allocated, 11 uint64 peak_reserved
"""
"""Message: its fields, each a number, a type and a name."""

CLASSES = message_classes(MESSAGES, "nodetree.proto")


def parse(data: bytes) -> Any:
    """A whole file."""
    return CLASSES["NodeTreesProto"].FromString(data)


def slices(recording: Any) -> Sums:
    """All events by (process, thread, name), work by (device, stream, name), in ns."""
    host = [*_hosts(recording), *(call.runtime_trace_event for call in _calls(recording))]
    work = [each for _, each in _work(recording)]
    return add_up(
        [
            *(((str(e.process_id), str(e.thread_id), e.name), _ns(e)) for e in host),
            *(((str(e.device_id), str(e.stream_id), e.name), _ns(e)) for e in work),
        ]
    )


def work(recording: Any) -> Sums:
    """Device work by (device, stream, kind, name), in ns."""
    return add_up(
        ((e.device_id, e.stream_id, WORK[e.type], e.name), _ns(e)) for _, e in _work(recording)
    )


def launches(recording: Any) -> Sums:
    """Device work by (kind, name of the call that it lies in), in ns."""
    return add_up(((WORK[each.type], call), _ns(each)) for call, each in _work(recording))


def memory(recording: Any) -> Sums:
    """Memory events by (type of device, device), in bytes: those of the pool allocate none."""
    return add_up(
        (device(each.mem_event.place), each.mem_event.increase_bytes * _is_allocation(each))
        for node in _nodes(recording)
        for each in node.mem_nodes
    )


def peaks(recording: Any) -> dict[tuple[int, int], tuple[int, int]]:
    """Device → the largest peaks that its events state: allocated and reserved bytes."""
    result: dict[tuple[int, int], tuple[int, int]] = {}
    for each in (one.mem_event for node in _nodes(recording) for one in node.mem_nodes):
        before = result.get(device(each.place), (0, 0))
        result[device(each.place)] = (
            max(before[0], each.peak_allocated), max(before[1], each.peak_reserved)
        )  # fmt: skip
    return result


def device(place: str) -> tuple[int, int]:
    """Type and number of a device, ``Place(gpu:1)``."""
    match = re.fullmatch(r"Place\((cpu|gpu):?(\d*)\)", place)
    assert match is not None, place
    return (0, -1) if match[1] == "cpu" else (1, int(match[2]))


def _nodes(recording: Any) -> Iterator[Any]:
    return (node for tree in recording.thread_trees for node in tree.host_nodes)


def _hosts(recording: Any) -> Iterator[Any]:
    """The events of nodes; a root has none, only memory of its thread."""
    return (node.host_trace_event for node in _nodes(recording) if node.parentid != -1)


def _calls(recording: Any) -> Iterator[Any]:
    return (call for node in _nodes(recording) for call in node.runtime_nodes)


def _work(recording: Any) -> Iterator[tuple[str, Any]]:
    """Name of the call, and the work that it launched."""
    for call in _calls(recording):
        name = call.runtime_trace_event.name
        yield from ((name, each.device_event) for each in call.device_nodes)


def _is_allocation(node: Any) -> bool:
    return node.mem_event.type in (ALLOCATE, FREE)


def _ns(event: Any) -> int:
    return int(event.end_ns - event.start_ns)
