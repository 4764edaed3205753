"""A step with device work in both of Paddle's layouts, with the figures that Paddle's own unit test
expects of such a step; times re-typed here, each figure worked out by hand.

    MobileNet 20-50      conv2d 25-40: infer_shape 25-30, compute 30-40
                         launch 30-35 → kernel 35-50; AsyncMemcpy 35-40 → copy 50-60
    Yolov3Net 51-111     sync_batch_norm 60-100: infer_shape 60-70, compute 70-90
                         launch 70-80 → kernel 95-155; AsyncMemcpy 90-100 → copy 150-200
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import paddle_protobuf as pb
from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.paddle.event_types import TYPES
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.summary.view import summary

HOST: tuple[tuple[str, str, int, int, int | None], ...] = (
    ("ProfileStep", "ProfileStep#1", 0, 400, None),
    ("Dataloader", "Dataloader", 5, 15, None),
    ("Forward", "MobileNet", 20, 50, None),
    ("Forward", "Yolov3Net", 51, 111, None),
    ("PythonUserDefined", "my_range", 112, 120, None),
    ("Backward", "Gradient Backward", 120, 200, None),
    ("Optimization", "Optimization", 220, 300, None),
    ("Operator", "conv2d", 25, 40, None),
    ("OperatorInner", "conv2d::infer_shape", 25, 30, None),
    ("OperatorInner", "conv2d::compute", 30, 40, None),
    ("CudaRuntime", "cudalaunchkernel", 30, 35, 1),
    ("UserDefined", "AsyncMemcpy", 35, 40, None),
    ("CudaRuntime", "cudaMemcpy", 35, 40, 2),
    ("Operator", "sync_batch_norm", 60, 100, None),
    ("OperatorInner", "sync_batch_norm::infer_shape", 60, 70, None),
    ("OperatorInner", "sync_batch_norm::compute", 70, 90, None),
    ("CudaRuntime", "cudalaunchkernel", 70, 80, 3),
    ("UserDefined", "AsyncMemcpy", 90, 100, None),
    ("CudaRuntime", "cudaMemcpy", 90, 100, 4),
)
DEVICE: tuple[tuple[str, str, int, int, int], ...] = (
    ("Kernel", "conv2d_kernel", 35, 50, 1),
    ("Memcpy", "MEMCPY_HtoD", 50, 60, 2),
    ("Kernel", "sync_batch_norm_kernel<float>", 95, 155, 3),
    ("Memcpy", "MEMCPY_HtoD", 150, 200, 4),
)
PYTHON = ("ProfileStep", "Dataloader", "Forward", "Backward", "Optimization", "PythonUserDefined")


def event(cat: str, name: str, start: int, end: int, row: tuple[int, object]) -> dict[str, Any]:
    pid, tid = row
    args = {"start_time": f"{start}.000 us", "end_time": f"{end}.000 us"}
    return {"ph": "X", "cat": cat, "name": f"{name}[{end - start} us]", "pid": pid, "tid": tid,
            "ts": start, "dur": end - start, "args": args}  # fmt: skip


def as_json() -> bytes:
    events = []
    for cat, name, start, end, correlation in HOST:
        layer = "Python" if cat in PYTHON else "C++"
        events.append(event(cat, name, start, end, (9, f"9({layer})")))
        if correlation is not None:
            events[-1]["args"]["correlation id"] = correlation
    for cat, name, start, end, correlation in DEVICE:
        events.append(event(cat, name, start, end, (0, 7)))
        events[-1]["args"] |= {"correlation id": correlation, "device": 0, "stream": 7}
        if cat == "Memcpy":
            events[-1]["args"]["bytes"] = 3000
        else:
            events[-1]["args"]["theoretical achieved occupancy %"] = 50.0
    return json.dumps({"schemaVersion": "1.0.2", "traceEvents": [*events, {}]}).encode()


def as_protobuf() -> bytes:
    """Each call lies in the shortest host event around it, its work in the call."""
    work = {
        correlation: pb.Work(
            name, TYPES.index(cat), start * 1000, end * 1000, correlation,
            {17: 0.5} if cat == "Kernel" else {1: 3000},
        )
        for cat, name, start, end, correlation in DEVICE
    }  # fmt: skip
    calls: dict[str, list[pb.Call]] = {}
    for cat, name, start, end, correlation in HOST:
        if cat == "CudaRuntime" and correlation is not None:
            around = [row for row in HOST if row[2] <= start and end <= row[3] and row[4] is None]
            owner = min(around, key=lambda row: row[3] - row[2])[1] + str(start)
            call = pb.Call(name, start * 1000, end * 1000, correlation, [work[correlation]])
            calls.setdefault(owner, []).append(call)
    nodes = [
        pb.Node(name, TYPES.index(cat), start * 1000, end * 1000, calls.get(f"{name}{start}", []))
        for cat, name, start, end, _ in HOST
        if cat != "CudaRuntime"
    ]
    return pb.recording(pb.tree(nodes))


@pytest.fixture(scope="module", params=[as_json, as_protobuf])
def trace(request: pytest.FixtureRequest) -> Trace:
    return build_trace(read_bytes(request.param()))


def rows(view: View, table: str) -> dict[str, dict[str, Any]]:
    named = view.tables[table].frame.rows(named=True)
    return {row.get("type") or row.get("device") or row["name"]: row for row in named}


def test_times_of_types(trace: Trace) -> None:
    overview = rows(summary(trace, Selection()), "overview")
    assert {name: row["time_us"] for name, row in overview.items()} == {
        "ProfileStep": 400, "Dataloader": 10, "Forward": 90, "Backward": 80, "Optimization": 80,
        "PythonUserDefined": 8, "Operator": 55, "OperatorInner": 45, "CudaRuntime": 30,
        "UserDefined": 15, "Kernel": 75, "Memcpy": 60,
    }  # fmt: skip
    assert overview["Kernel"]["side"] == overview["Memcpy"]["side"] == "device"
    assert overview["Kernel"]["pct"] == 18.75


def test_phases_have_the_work_that_they_launched(trace: Trace) -> None:
    model = rows(summary(trace, Selection()), "model")
    assert (model["Forward"]["calls"], model["Forward"]["cpu_total_us"]) == (2, 90)
    # Kernels, without the copies (which make 135 together).
    assert (model["Forward"]["gpu_total_us"], model["Forward"]["gpu_max_us"]) == (75, 60)
    assert model["Backward"]["gpu_total_us"] == 0
    assert (model["Others"]["cpu_total_us"], model["Others"]["calls"]) == (140, None)
    assert model["Others"]["gpu_total_us"] == 0


def test_shares_of_a_phase_are_of_the_steps(trace: Trace) -> None:
    view = summary(trace, Selection(phase="forward"))
    model = rows(view, "model")
    assert (model["ProfileStep"]["cpu_total_us"], model["Backward"]["cpu_total_us"]) == (400, 80)
    overview = rows(view, "overview")
    assert (overview["Forward"]["calls"], overview["Forward"]["pct"]) == (2, 22.5)
    assert "Backward" not in overview


def test_operators_copies_and_kernels(trace: Trace) -> None:
    view = summary(trace, Selection(group_by="name+parts"))
    operators = view.tables["operator"].frame.rows(named=True)
    conv2d = next(row for row in operators if row["name"] == "conv2d")
    assert (conv2d["cpu_total_us"], conv2d["gpu_total_us"]) == (15, 25)
    assert conv2d["gpu_pct"] == pytest.approx(25 / 135 * 100)
    parts = {row["name"]: row for row in operators if row["parent"] == conv2d["path"]}
    assert parts["conv2d::compute"]["gpu_total_us"] == 25
    assert (parts["conv2d::infer_shape"]["cpu_pct"], parts["conv2d::compute"]["cpu_pct"]) == (
        pytest.approx(100 / 3), pytest.approx(200 / 3),
    )  # fmt: skip
    compute = parts["conv2d::compute"]["path"]
    (kernel,) = [row for row in operators if row["parent"] == compute]
    assert (kernel["name"], kernel["gpu_pct"], kernel["cpu_total_us"]) == (
        "conv2d_kernel", 60, None,
    )  # fmt: skip

    (copies,) = view.tables["memory_manipulation"].frame.rows(named=True)
    assert (copies["name"], copies["host_call"], copies["calls"]) == (
        "AsyncMemcpy", "AsyncMemcpy", 2,
    )  # fmt: skip
    assert (copies["cpu_total_us"], copies["gpu_total_us"], copies["bytes"]) == (15, 60, 6000)
    assert copies["bandwidth_gbps"] == 0.1
    kernels = rows(view, "kernel")
    assert kernels["sync_batch_norm_kernel<float>"]["gpu_pct"] == 80
    device = rows(view, "device")
    assert device["GPU0"]["utilization_pct"] == 18.75
    assert device["CPU(Process)"]["utilization_pct"] is None
    assert "not recorded" in view.tables["device"].null_reasons["utilization_pct"]


def test_what_paddle_says_of_kernels_and_copies(trace: Trace) -> None:
    work = trace.device_work
    assert work["est_achieved_occupancy_pct"].to_list() == [50, None, 50, None]
    assert work["bytes"].to_list() == [None, 3000, None, 3000]
    launches = [trace.text(code) for code in trace.slices["name_code"].gather(work["launch"])]
    assert launches == ["cudalaunchkernel", "cudaMemcpy"] * 2
