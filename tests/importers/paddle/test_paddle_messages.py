"""Sums of Paddle's files against second readers: ``google.protobuf`` and ``json``."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums
from tests.importers.kineto import json_sums
from tests.importers.kineto.reference import read_bytes
from tests.importers.paddle import paddle_messages
from tests.importers.paddle.paddle_messages import CLASSES, TYPES, WORK
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

START = 1_795_311_130_315_000_000


def trace_of(data: bytes) -> Trace:
    return build_trace(read_bytes(data))


def assert_same_sums(data: bytes) -> None:
    trace, recording = trace_of(data), paddle_messages.parse(data)
    for what in ("slices", "work", "launches", "memory"):
        here, there = getattr(sums, what)(trace), getattr(paddle_messages, what)(recording)
        assert sums.differences(here, there) == {}, what
    assert peaks(trace) == paddle_messages.peaks(recording)


def peaks(trace: Trace) -> dict[tuple[int, int], tuple[int, int]]:
    table = trace.side.get("recorded_memory_peaks")
    rows = [] if table is None else table.frame.rows()
    return {(kind, device): (allocated, reserved) for kind, device, allocated, reserved in rows}


def test_every_protobuf_of_the_corpus(corpus: Path) -> None:
    files = sorted((corpus / "paddle_3.3.1").rglob("*.pb"))
    assert len(files) == 2
    for path in files:
        assert_same_sums(path.read_bytes())


def test_every_json_of_the_corpus(corpus: Path) -> None:
    """Two rows of a thread are one, names end with durations, and memory has Paddle's words."""
    files = sorted((corpus / "paddle_3.3.1").rglob("*.json*"))
    assert len(files) == 4
    for path in files:
        data = path.read_bytes()
        trace, events = trace_of(data), json_sums.events_of(json_sums.parse(data))
        for event in events:
            event["tid"] = re.sub(r"\((Python|C\+\+)\)$", "", str(event["tid"]))
            event["name"] = re.sub(r"\[[0-9.]+ [num]?s\]$", "", event["name"])
        assert sums.differences(sums.slices(trace), json_sums.slices(events)) == {}, path
        memory = sums.add_up(
            (paddle_messages.device(args["place"]), is_allocation * args["increase_bytes"])
            for event in events
            if event["name"] == "[memory]"
            for args, is_allocation in [(event["args"], event["cat"] in ("Allocate", "Free"))]
        )
        assert sums.differences(sums.memory(trace), memory) == {}, path
        assert not trace.device_work.height


PYTHON = ("Dataloader", "ProfileStep", "Forward", "Backward", "Optimization", "PythonOp",
          "PythonUserDefined")  # fmt: skip
MEMORY = ("Allocate", "Free", "ReservedAllocate", "ReservedFree")
NAMES = ("conv2d", "k<float>", "Größe", "", "a" * 300, "conv2d[2.7 us]")


def random_recording(seed: int) -> bytes:
    """Nodes of some threads, with calls, work and memory, in Paddle's own order of fields."""
    chance = random.Random(seed)
    whole = CLASSES["NodeTreesProto"](version="1.0.2", span_indx=chance.randrange(3))
    for number in range(4):
        whole.device_property.add(id=number, name="A100")
    for thread in range(chance.randrange(1, 4)):
        tree = whole.thread_trees.add(thread_id=thread)
        root = tree.host_nodes.add(id=0, parentid=-1)
        root.host_trace_event.MergeFrom(
            CLASSES["HostTraceEventProto"](name="root node", type=7, end_ns=2**64 - 1)
        )
        for number in range(1, chance.randrange(2, 8)):
            _add_node(chance, tree.host_nodes.add(id=number, parentid=0), thread)
    return bytes(whole.SerializeToString())


def _times(chance: random.Random) -> dict[str, int]:
    start = START + chance.randrange(10**9)
    return {"start_ns": start, "end_ns": start + chance.choice((0, 1, chance.randrange(10**6)))}


def _add_node(chance: random.Random, node: Any, thread: int) -> None:
    place = {"process_id": 9, "thread_id": thread}
    host = [number for number in range(len(TYPES)) if number not in (*WORK, 3)]
    node.host_trace_event.MergeFrom(
        CLASSES["HostTraceEventProto"](
            name=chance.choice(NAMES) or "x", type=chance.choice(host), **place, **_times(chance)
        )
    )
    for _ in range(chance.randrange(3)):
        call = node.runtime_nodes.add()
        event = CLASSES["CudaRuntimeTraceEventProto"](
            name=chance.choice(("cudaLaunchKernel", "cudaMemcpyAsync", "mine")),
            correlation_id=chance.randrange(3), callback_id=211, **place, **_times(chance),
        )  # fmt: skip
        call.runtime_trace_event.MergeFrom(event)
        for _ in range(chance.randrange(3)):
            _add_work(chance, call.device_nodes.add().device_event)
    for _ in range(chance.randrange(3)):
        node.mem_nodes.add().mem_event.MergeFrom(
            CLASSES["MemTraceEventProto"](
                timestamp_ns=START + chance.randrange(10**9), type=chance.randrange(4),
                addr=chance.randrange(2**63), increase_bytes=chance.randrange(-(2**40), 2**40),
                place=chance.choice(("Place(cpu)", "Place(gpu:0)", "Place(gpu:3)")),
                current_allocated=chance.randrange(2**40),
                peak_allocated=chance.randrange(2**40), peak_reserved=chance.randrange(2**40),
                **place,
            )
        )  # fmt: skip


def _add_work(chance: random.Random, event: Any) -> None:
    kind = chance.choice(list(WORK))
    event.MergeFrom(
        CLASSES["DeviceTraceEventProto"](
            name=chance.choice(NAMES) or "y", type=kind, device_id=chance.randrange(4),
            context_id=1, stream_id=chance.randrange(3), correlation_id=chance.randrange(3),
            **_times(chance),
        )
    )  # fmt: skip
    if WORK[kind] == "KERNEL":
        event.kernel_info.grid_x = chance.randrange(2**31)
        event.kernel_info.blocks_per_sm = chance.random()
    elif WORK[kind] == "MEMCPY":
        event.memcpy_info.num_bytes = chance.randrange(2**50)


def as_json(recording: Any) -> bytes:
    """The same recording as ``export_chrome_tracing`` writes it: names with durations, threads in
    two rows, work on the rows of devices, and an empty event at the end."""
    events: list[dict[str, Any]] = []

    def put(kind: str, event: Any, row: tuple[int, Any], **args: Any) -> None:
        us = (event.end_ns - event.start_ns) / 1000
        exact = {"start_time": f"{(event.start_ns - START) / 1000:.3f} us",
                 "end_time": f"{(event.end_ns - START) / 1000:.3f} us"}  # fmt: skip
        events.append({"ph": "X", "cat": kind, "name": f"{event.name}[{us:.3f} us]", "pid": row[0],
                       "tid": row[1], "ts": event.start_ns // 1000, "dur": us,
                       "args": exact | args})  # fmt: skip

    for tree in recording.thread_trees:
        for node in tree.host_nodes:
            event, thread = node.host_trace_event, tree.thread_id
            layer = "Python" if TYPES[event.type] in PYTHON else "C++"
            if node.parentid != -1:
                put(TYPES[event.type], event, (event.process_id, f"{thread}({layer})"))
            for call in node.runtime_nodes:
                event = call.runtime_trace_event
                link = {"correlation id": event.correlation_id}
                put("CudaRuntime", event, (event.process_id, f"{thread}(C++)"), **link)
                for work in (each.device_event for each in call.device_nodes):
                    row, link = (work.device_id, work.stream_id), {
                        "correlation id": work.correlation_id, "stream": work.stream_id,
                    }  # fmt: skip
                    put(TYPES[work.type], work, row, **link)
            for memory in (each.mem_event for each in node.mem_nodes):
                args = {"place": memory.place, "addr": str(memory.addr),
                        "increase_bytes": memory.increase_bytes,
                        "peak_allocated": memory.peak_allocated,
                        "peak_reserved": memory.peak_reserved}  # fmt: skip
                events.append({"ph": "i", "name": "[memory]", "cat": MEMORY[memory.type],
                               "pid": memory.process_id, "tid": f"{thread}(C++)",
                               "ts": memory.timestamp_ns // 1000, "args": args})  # fmt: skip
    devices = [{"id": each.id, "name": each.name} for each in recording.device_property]
    header = {"schemaVersion": "1.0.2", "displayTimeUnit": "ms", "deviceProperties": devices}
    return json.dumps({**header, "traceEvents": [*events, {}]}).encode()


@given(st.integers(0, 2**32))
def test_random_protobufs(seed: int) -> None:
    assert_same_sums(random_recording(seed))


@given(st.integers(0, 2**32))
def test_random_json(seed: int) -> None:
    """Launches are left out: work has the call that it lies in in protobuf alone."""
    recording = paddle_messages.parse(random_recording(seed))
    trace = trace_of(as_json(recording))
    for what in ("slices", "work", "memory"):
        here, there = getattr(sums, what)(trace), getattr(paddle_messages, what)(recording)
        assert sums.differences(here, there) == {}, what
    assert peaks(trace) == paddle_messages.peaks(recording)
