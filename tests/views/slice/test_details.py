"""Cases: a kernel with its launch and operator; a launch with what it launched; an operator with
shapes, children and stack; a collective; every slice of real traces can be asked for.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.opening import open_file
from tests.helpers.traces import op, step, trace
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.slice.details import MAX_LINKED, slice_details


def trace_of(tmp_path: Path, events: list[dict[str, Any]]) -> Trace:
    defaults = {"ph": "X", "pid": 1, "tid": 1}
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"traceEvents": [{**defaults, **event} for event in events]}))
    return open_file(open_location(str(path)), cache=None)


def plain(trace: Trace, slice_id: int) -> dict[str, Any]:
    """The details as the JSON has them."""
    details: dict[str, Any] = json.loads(encode(slice_details(trace, slice_id)))
    return details


def by_name(trace: Trace, name: str) -> dict[str, Any]:
    names = [trace.text(code) for code in trace.slices["name_code"]]
    return plain(trace, names.index(name))


def linked(details: dict[str, Any], link: str) -> list[str]:
    return [entry["name"] for entry in details["links"][link]["slices"]]


@pytest.fixture
def launched(tmp_path: Path) -> Trace:
    return trace_of(
        tmp_path,
        [
            {"cat": "cpu_op", "name": "aten::linear", "ts": 0, "dur": 50},
            {
                "cat": "cpu_op",
                "name": "aten::mm",
                "ts": 10,
                "dur": 30,
                "args": {"Input Dims": [[2, 3], [3, 4]], "Call stack": "a.py(3): f;b.py(4): g"},
            },
            {
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": 20,
                "dur": 5,
                "args": {"correlation": 77},
            },
            {
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": 100,
                "dur": 40,
                "args": {"correlation": 77, "device": 0, "stream": 7, "grid": [8, 1, 1]},
            },
        ],
    )


def test_a_kernel(launched: Trace) -> None:
    kernel = by_name(launched, "gemm")
    assert (kernel["category"], kernel["start_us"], kernel["dur_us"]) == ("kernel", 100.0, 40.0)
    assert kernel["args"]["grid"].replace(" ", "") == "[8,1,1]"
    assert kernel["args"]["launch_delay_ns"] == 80_000
    assert linked(kernel, "launch") == ["cudaLaunchKernel"]
    assert linked(kernel, "owner") == ["aten::mm"]
    assert [frame["file"] for frame in kernel["call_stack"]] == ["a.py", "b.py"]


def test_a_launch_and_its_operator(launched: Trace) -> None:
    launch = by_name(launched, "cudaLaunchKernel")
    assert linked(launch, "launched") == ["gemm"]
    assert linked(launch, "parent") == ["aten::mm"]
    operator = by_name(launched, "aten::mm")
    assert linked(operator, "parent") == ["aten::linear"]
    assert linked(operator, "device_work") == ["gemm"]
    assert operator["args"]["input_shape"].replace(" ", "") == "[[2,3],[3,4]]"
    assert operator["device_total_us"] == 40.0
    assert operator["step"] == "0"


def test_a_graph_launch_lists_the_first_of_many(tmp_path: Path) -> None:
    launch = {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 0, "dur": 5}
    kernels = [
        {"cat": "kernel", "name": f"k{n}", "pid": 0, "tid": 7, "ts": 10 + n, "dur": 1}
        for n in range(150)
    ]
    args = {"correlation": 1, "device": 0, "stream": 7}
    trace = trace_of(tmp_path, [{**event, "args": args} for event in (launch, *kernels)])
    launched = by_name(trace, "cudaGraphLaunch")["links"]["launched"]
    assert launched["count"] == 150
    assert len(launched["slices"]) == MAX_LINKED


@pytest.mark.parametrize("run", ["cpu_resnet_full", "dlrm_8_ranks", "mi300_bert_small"])
def test_slices_of_real_traces_keep_their_name_and_time(samples: Path, run: str) -> None:
    path = sorted((samples / run).glob("*.gz"))[0]
    trace = open_file(open_location(str(path)), cache=None)
    raw = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    known = {(event.get("name"), event.get("dur")) for event in raw if event.get("ph") == "X"}
    for slice_id in range(0, trace.slices.height, 97):
        details = plain(trace, slice_id)
        durations = {duration for name, duration in known if name == details["name"]}
        assert any(abs(details["dur_us"] - float(dur)) < 0.0015 for dur in durations)


def test_device_time_is_null_with_a_reason_where_nothing_was_recorded() -> None:
    of = trace([step(0, 0, 100), op("aten::mm", 10, 30)])
    operator = by_name(of, "aten::mm")
    assert (operator["device_self_us"], operator["device_total_us"]) == (None, None)
    assert "no device work" in operator["no_device_time"]
