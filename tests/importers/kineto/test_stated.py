"""Work and source that slices state in their arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

TRITON = {
    "External id": 3,
    "kernel_file": "/tmp/cab.py",
    "kernel_kwargs": "XBLOCK=128",
    "kernel_flop": 2_000_000,
    "kernel_num_gb": 0.25,
}


def _event(name: str, category: str, args: dict[str, Any], at: int) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 2}
    return {**event, "args": args}


def _read(events: list[dict[str, Any]]) -> Trace:
    return build_trace(read_bytes(json.dumps({"traceEvents": events}).encode()))


def test_work_and_source_of_slices_that_state_them() -> None:
    events = [
        _event("aten::mm", "cpu_op", {"External id": 1, "flops": 64}, 10),
        _event("aten::add", "cpu_op", {"External id": 2}, 20),
        _event("triton_poi_fused_0", "cpu_op", TRITON, 30),
        _event("k", "kernel", {"device": 0, "graph id": 7, "stack": "a.py:1"}, 40),
        _event("l", "kernel", {"device": 0, "annotation": {"name": "layer.0"}}, 50),
    ]
    trace = _read(events)
    names = trace.strings[trace.slices["name_code"].to_numpy()]
    rows = {names[row["slice"]]: row for row in trace.stated.iter_rows(named=True)}
    assert set(rows) == {"aten::mm", "triton_poi_fused_0", "k", "l"}
    assert rows["aten::mm"]["flops"] == 64
    assert rows["aten::mm"]["bytes"] is None
    triton = rows["triton_poi_fused_0"]
    assert triton["flops"] == 2_000_000
    assert triton["bytes"] == pytest.approx(250_000_000)
    assert trace.text(triton["kernel_file_code"]) == "/tmp/cab.py"
    assert trace.text(rows["k"]["stack_code"]) == "a.py:1"
    assert json.loads(str(trace.text(rows["l"]["annotation_code"]))) == {"name": "layer.0"}
    work = trace.device_work.sort("start_ns")
    assert work["graph"].to_list() == [7, None]


def test_implausible_amounts_are_dropped() -> None:
    wrong: tuple[Any, ...] = (-1, 0, "many", None, 1e400, 1e40)
    events = [
        _event(f"op{number}", "cpu_op", {"kernel_file": "f.py", "kernel_flop": value}, 10 * number)
        for number, value in enumerate(wrong)
    ]
    trace = _read(events)
    assert trace.stated.height == len(wrong)
    assert trace.stated["flops"].null_count() == len(wrong)


def test_annotations_of_graph_nodes_are_read_for_each_kernel() -> None:
    """torch 2.15 writes each key of an annotation as an argument of the kernel."""

    def args(node: int, **own: object) -> dict[str, Any]:
        return {"device": 0, "graph id": 5, "graph node id": node, "hsa_queue": "q", **own}

    first = {"module_fqn": "layers.0.mlp", "phase": "decode"}
    events = [
        _event("gemm", "kernel", args(1, **first), 10),
        _event("relu", "kernel", args(2), 20),
        _event("gemm", "kernel", args(1, **first), 30),
        _event("scale", "kernel", args(3, annotation='[{"name": "x"}]'), 40),
        _event("eager", "kernel", {"device": 0, "graph node id": 0, "odd": "text"}, 50),
    ]
    trace = _read(events)
    starts = trace.slices["start_ns"].to_numpy()[trace.stated["slice"].to_numpy()]
    annotations = [trace.text(code) or "" for code in trace.stated["annotation_code"]]
    assert dict(zip(starts.tolist(), map(json.loads, annotations), strict=True)) == {
        10_000: first,
        30_000: first,
        40_000: [{"name": "x"}],
    }


def test_launch_options_hold_warps_and_stages() -> None:
    args = {**TRITON, "num_warps": 8, "num_stages": 1}
    trace = _read([_event("triton_poi_fused_0", "cpu_op", args, 10)])
    kwargs = trace.text(trace.stated["kernel_kwargs_code"][0])
    assert kwargs == "XBLOCK=128,num_warps=8,num_stages=1"
