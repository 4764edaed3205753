"""The fields of a ``.pb`` file; device rows are those that Paddle's JSON has."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.helpers import paddle_protobuf as pb
from tests.importers.kineto.reference import actual, read_bytes
from torch_tb_profiler.analysis.communication.calls import host_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.communication_summary import communication_times
from torch_tb_profiler.importers.paddle.event_types import TYPES
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import DeviceInfo

START = 1_795_311_130_315_000_000
KERNEL = {1: 128, 2: 2, 3: 1, 4: 40, 5: 3, 6: 1, 7: 1024, 8: 512, 9: 33, 10: 0, 11: 0,
          15: 1.5, 16: 12.0, 17: 0.75}  # fmt: skip
STACK = '  File "a.py", line 3, in main\n    run()\n  File "b.py", line 7, in run\n    conv()\n'


def protobuf() -> bytes:
    kernel = pb.Work("k<float>", pb.KERNEL, START + 60_000, START + 90_000, 11, KERNEL)
    copy = pb.Work(
        "MEMCPY_HtoD", pb.MEMCPY, START + 95_000, START + 99_000, 12, {1: 4096}, stream=9
    )
    clear = pb.Work("MEMSET", pb.MEMSET, START + 99_000, START + 99_500, 13, {1: 64, 3: 0})
    calls = [
        pb.Call("cudaLaunchKernel", START + 20_000, START + 25_000, 11, [kernel]),
        pb.Call("cudaMemcpyAsync", START + 26_000, START + 28_000, 12, [copy]),
        pb.Call("cudaMemsetAsync", START + 28_000, START + 29_000, 13, [clear]),
    ]
    memory = [
        pb.Memory(START + 15_000, 2, 77, 1 << 20, reserved_bytes=1 << 20),
        pb.Memory(START + 16_000, 0, 77, 512, allocated_bytes=512, reserved_bytes=1 << 20),
        pb.Memory(START + 29_000, 1, 77, -512, reserved_bytes=1 << 20),
    ]
    inputs = pb.Inputs(
        {"Filter": [[64, 3, 7, 7]], "Input": [[8, 3, 28, 28], []]},
        {"Filter": ["float32"], "Input": ["float32", "int64"]},
        STACK,
    )
    nodes = [
        pb.Node("ProfileStep#1", TYPES.index("ProfileStep"), START, START + 100_000),
        pb.Node("conv2d", 0, START + 10_000, START + 30_000, calls, memory, inputs),
        pb.Node("all_reduce", TYPES.index("Communication"), START + 40_000, START + 50_000),
    ]
    extra = {"9": "MainThread", "Process Cpu Utilization": "0.5", "System Cpu Utilization": "1.0"}
    values: tuple[int | str, ...] = (
        0, "A100", 42 << 30, 8, 0, 1024, 2048, 65536, 65536, 32, 49152, 167936, 108, 166912,
    )  # fmt: skip
    devices = [dict(enumerate(values, 1))]
    return pb.recording(pb.tree(nodes), extra=extra, devices=devices)


def slice_row(cat: str, name: str, start: int, dur: float, row: tuple[int, object], **args: Any
              ) -> dict[str, Any]:  # fmt: skip
    exact = {"start_time": f"{start}.000 us", "end_time": f"{start + dur:.3f} us"}
    return {"ph": "X", "cat": cat, "name": f"{name}[{dur:.3f} us]", "pid": row[0], "tid": row[1],
            "ts": START // 1000 + start, "dur": dur, "args": exact | args}  # fmt: skip


def memory_row(kind: str, start: int, size: int, allocated: int) -> dict[str, Any]:
    args = {"place": "Place(gpu:0)", "addr": "77", "increase_bytes": size,
            "current_allocated": allocated, "current_reserved": 1 << 20}  # fmt: skip
    return {"ph": "i", "name": "[memory]", "cat": kind, "pid": 9, "tid": "9(C++)",
            "ts": START // 1000 + start, "args": args}  # fmt: skip


def chrome() -> bytes:
    cpp, gpu = (9, "9(C++)"), (0, 7)
    link = "correlation id"
    events = [
        slice_row("ProfileStep", "ProfileStep#1", 0, 100, (9, "9(Python)")),
        slice_row("Operator", "conv2d", 10, 20, cpp,
                  input_shapes={"Filter": [[64, 3, 7, 7]], "Input": [[8, 3, 28, 28], []]},
                  input_dtypes={"Filter": ["float32"], "Input": ["float32", "int64"]},
                  callstack=STACK.replace('"', "'")),
        slice_row("CudaRuntime", "cudaLaunchKernel", 20, 5, cpp, **{link: 11}),
        slice_row("Kernel", "k<float>", 60, 30, gpu, device=0, context=1, stream=7,
                  **{link: 11, "registers per thread": 33, "shared memory": 1536,
                     "blocks per SM": 1.5, "warps per SM": 12.0, "grid": [40, 3, 1],
                     "block": [128, 2, 1], "theoretical achieved occupancy %": 75.0}),
        slice_row("CudaRuntime", "cudaMemcpyAsync", 26, 2, cpp, **{link: 12}),
        slice_row("Memcpy", "MEMCPY_HtoD", 95, 4, (0, 9), stream=9, bytes=4096,
                  **{link: 12, "memory bandwidth (GB/s)": 1.024}),
        slice_row("CudaRuntime", "cudaMemsetAsync", 28, 1, cpp, **{link: 13}),
        slice_row("Memset", "MEMSET", 99, 0.5, gpu, device=0, context=1, stream=7, bytes=64,
                  value=0, **{link: 13}),
        memory_row("ReservedAllocate", 15, 1 << 20, 0),
        memory_row("Allocate", 16, 512, 512),
        memory_row("Free", 29, -512, 0),
        slice_row("Communication", "all_reduce", 40, 10, cpp),
        {},
    ]  # fmt: skip
    keys = ("id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock",
            "maxThreadsPerMultiprocessor", "regsPerBlock", "regsPerMultiprocessor", "warpSize",
            "sharedMemPerBlock", "sharedMemPerMultiprocessor", "smCount",
            "sharedMemPerBlockOption")  # fmt: skip
    device = dict(zip(keys, (0, "A100", 42 << 30, 8, 0, 1024, 2048, 65536, 65536, 32, 49152,
                             167936, 108, 166912), strict=True))  # fmt: skip
    header = {"displayTimeUnit": "ms", "schemaVersion": "1.0.2", "deviceProperties": [device],
              "traceEvents": events,
              "ExtraInfo": {"9": "MainThread", "Process Cpu Utilization": "0.5",
                            "System Cpu Utilization": "1.0"}}  # fmt: skip
    return json.dumps(header).encode()


def columns() -> EventColumns:
    return read_bytes(protobuf())


def test_json_and_protobuf_have_the_same_rows() -> None:
    one, other = columns(), read_bytes(chrome())
    rows, expected = actual(one), actual(other)
    slices = {(name, start, dur, link) for _, name, *_, start, dur, link, _ in rows["slices"]}
    assert slices == {(n, start, dur, ln) for _, n, *_, start, dur, ln, _ in expected["slices"]}
    by_name = [{row[0]: row for row in each["slices"]} for each in (rows, expected)]
    assert by_name[0].keys() == by_name[1].keys()
    for table in ("device", "operator"):
        tables = [{str(row[1:]) for row in each[table]} for each in (rows, expected)]
        assert tables[0] == tables[1]
    assert rows["memory"] == [
        (*row[:2], row[2] // 1000 * 1000, *row[3:]) for row in expected["memory"]
    ]
    assert one.info == other.info
    assert (one.quality.counts, other.quality.counts) == ({}, {})


def test_fields_of_slices() -> None:
    rows = actual(columns())
    (kernel,) = [row for row in rows["device"] if row[3] is not None]
    assert kernel[1:] == (0, 7, "[40, 3, 1]", "[128, 2, 1]", 33, 1536, 1.5, 12.0, 75.0, None)
    assert [row[-1] for row in rows["device"]] == [None, 4096, 64]
    ((_, shapes, types, _, stack, *_),) = rows["operator"]
    assert shapes == "[[64, 3, 7, 7], [8, 3, 28, 28], []]"
    assert types == "['float32', 'float32', 'int64']"
    assert stack == "b.py(7): run;a.py(3): main"
    memory = [row[3:] for row in rows["memory"]]
    assert memory == [
        (1, 0, None, 0, 0, 1 << 20), (1, 0, 77, 512, 512, 1 << 20), (1, 0, 77, -512, 0, 1 << 20),
    ]  # fmt: skip


def test_device_and_host_are_known() -> None:
    info = columns().info
    assert info.devices == (
        DeviceInfo(
            device=0, name="A100", memory_bytes=42 << 30, compute_major=8, compute_minor=0,
            sm_count=108, max_threads_per_sm=2048, max_threads_per_block=1024,
            registers_per_sm=65536, registers_per_block=65536, warp_size=32,
            shared_memory_per_sm_bytes=167936, shared_memory_per_block_bytes=49152,
            shared_memory_per_block_optin_bytes=166912,
        ),
    )  # fmt: skip
    assert (info.process_cpu_pct, info.system_cpu_pct) == (50, 100)
    assert (info.framework, info.recorder, info.recorder_version) == (
        "Paddle", "paddle.profiler", "1.0.2",
    )  # fmt: skip


def test_work_belongs_to_the_call_that_contains_it() -> None:
    trace = build_trace(columns())
    names = trace.slices["name_code"]
    launches = [trace.text(names[row]) for row in trace.device_work["launch"].to_list()]
    assert launches == ["cudaLaunchKernel", "cudaMemsetAsync", "cudaMemcpyAsync"]
    owners = {trace.text(names[row]) for row in trace.device_work["owner"].to_list()}
    assert owners == {"conv2d"}
    assert trace.tracks["thread_name"].to_list() == ["thread 9:MainThread", "stream 7", "stream 9"]
    assert not np.any(trace.slices["lane"].to_numpy())


def test_events_of_the_communication_type_are_collectives_by_any_name() -> None:
    for data in (protobuf(), chrome()):
        trace = build_trace(read_bytes(data.replace(b"all_reduce", b"my_syncing")))
        calls = [trace.text(trace.slices["name_code"][row]) for row in host_calls(trace).tolist()]
        assert calls == ["my_syncing"]
        times = communication_times(trace, Selection())
        assert times is not None
        assert times.communication_ns == 10_000


def test_inputs_of_a_part_are_those_of_its_operator() -> None:
    """Paddle gives the inputs of an operator of a static graph to its part ``infer_shape``."""
    inputs = pb.Inputs({"X": [[4, 5]]}, {"X": ["float32"]}, STACK)
    inner = TYPES.index("OperatorInner")
    nodes = [
        pb.Node("relu", 0, START, START + 9_000),
        pb.Node("infer_shape", inner, START + 1_000, START + 2_000, inputs=inputs),
        pb.Node("alone", inner, START + 20_000, START + 21_000, inputs=inputs),
        pb.Node("conv2d", 0, START + 30_000, START + 39_000, inputs=inputs),
        pb.Node("infer_shape", inner, START + 31_000, START + 32_000, inputs=inputs),
    ]
    trace = build_trace(read_bytes(pb.recording(pb.tree(nodes))))
    names = trace.slices["name_code"].gather(trace.operators["slice"])
    assert [trace.text(code) for code in names] == ["relu", "alone", "conv2d", "infer_shape"]
    assert {trace.text(code) for code in trace.operators["input_shape_code"]} == {"[[4, 5]]"}
