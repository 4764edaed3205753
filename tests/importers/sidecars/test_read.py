"""Sidecar files as side tables: annotations, captures, provenance; damaged and large ones.

The provenance files are those that torch 2.13 wrote for a small model (``samples/record``).
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.sidecars import annotations as graph_annotations
from torch_tb_profiler.importers.sidecars import read as sidecars_read
from torch_tb_profiler.importers.sidecars.annotations import SidecarError, read_annotations
from torch_tb_profiler.importers.sidecars.captures import read_capture
from torch_tb_profiler.importers.sidecars.names import rank_of, select_rank, sidecar_kind
from torch_tb_profiler.importers.sidecars.provenance import (
    Provenance,
    provenance_frame,
    read_provenance,
)
from torch_tb_profiler.importers.sidecars.read import Sidecars, read_details, read_sidecars

DATA = Path(__file__).parents[2] / "data" / "compiled"


def test_annotations_of_pickles_and_json() -> None:
    annotations = {(5 << 32) | 7: [{"str": "a"}], 3: ["b"], "x": 1, -4: [1], 2**70: [1], 9: []}
    frame = read_annotations(pickle.dumps(annotations), "kernel_annotations_rank0_1.pkl")
    assert frame.rows() == [(5, 7, '[{"str": "a"}]'), (0, 3, '["b"]'), (0, 9, "[]")]
    as_json = json.dumps({str(key): value for key, value in annotations.items() if key != "x"})
    assert read_annotations(as_json.encode(), "kernel_annotations.json").rows() == frame.rows()


@pytest.mark.parametrize("value", [[1], {"a": 1}, "text", {}])
def test_other_pickles_are_rejected(value: Any) -> None:
    data = pickle.dumps(value)
    if value == {}:
        assert read_annotations(data, "a.pkl").is_empty()
        return
    with pytest.raises(SidecarError):
        read_annotations(data, "a.pkl")


def test_annotations_that_expand_are_truncated() -> None:
    """Lists in lists, each ten times the one inside: 10**9 values of a hundred bytes."""
    value: Any = ["x"]
    for _ in range(9):
        value = [value] * 10
    (row,) = read_annotations(pickle.dumps({1: value}), "a.pkl").rows()
    assert len(row[2]) < 3000


def test_many_nodes_with_one_long_annotation_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle of some megabytes may name one text a million times."""
    monkeypatch.setattr(graph_annotations, "MAX_ALL_CHARS", 1000)
    shared = "a" * 98  # 100 characters of JSON
    few = read_annotations(pickle.dumps(dict.fromkeys(range(1, 11), shared)), "a.pkl")
    assert few.height == 10
    with pytest.raises(SidecarError, match="longer than those of any graph"):
        read_annotations(pickle.dumps(dict.fromkeys(range(1, 12), shared)), "a.pkl")


def _slice(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def _launch(name: str, at: float, corr: int, **args: Any) -> dict[str, Any]:
    return _slice("cuda_runtime", name, at, 1, correlation=corr, **args)


def _capture(*events: dict[str, Any]) -> list[Any]:
    return read_capture(json.dumps({"traceEvents": events}).encode())


def test_launches_of_captures_with_their_context() -> None:
    launches = _capture(
        _launch("cudaLaunchKernel", 1, 90),  # a warm-up before the capture
        _slice("user_annotation", "capture_32_FULL", 5, 90),
        _slice("cuda_runtime", "cudaStreamBeginCapture", 6, 1),
        _slice("python_function", "nn.Module: Model_0", 10, 60),
        _slice("python_function", "nn.Module: Linear_3", 11, 20),
        _slice("cpu_op", "aten::linear", 12, 15, **{"Input Dims": [[2, 3]]}),
        _slice("cpu_op", "aten::addmm", 13, 10, **{"Input Dims": [[3], [2, 3], [3, 4]]}),
        _launch("hipExtModuleLaunchKernel", 14, 1, kernel="gemm"),
        _slice("cuda_driver", "cuLaunchKernelEx", 14.2, 0.5, correlation=1),
        _slice("cpu_op", "triton_poi_fused_0", 40, 5),
        _slice("cuda_driver", "cuLaunchKernel", 41, 1, correlation=2),
        _launch("cudaMemcpyAsync", 50, 3),
        _launch("cudaStreamIsCapturing", 52, 4),
        _slice("cuda_runtime", "cudaStreamEndCapture", 80, 1),
        _launch("cudaLaunchKernel", 85, 91),
        _slice("cuda_runtime", "hipStreamBeginCapture", 100, 1),
        _launch("hipMemsetAsync", 101, 5),
    )
    assert [(each.graph, each.call, each.operator, each.kernel) for each in launches] == [
        (0, "hipExtModuleLaunchKernel", "aten::addmm", "gemm"),
        (0, "cuLaunchKernel", "triton_poi_fused_0", "triton_poi_fused_0"),
        (0, "cudaMemcpyAsync", None, None),
        (1, "hipMemsetAsync", None, None),
    ]
    assert launches[0].module == "Model_0.Linear_3"
    assert launches[0].shapes == "[[3],[2,3],[3,4]]"
    assert (launches[0].batch_size, launches[0].mode) == (32, "FULL")
    assert (launches[3].batch_size, launches[3].module) == (None, None)


def test_without_a_begin_the_whole_file_is_one_capture() -> None:
    launches = _capture(_slice("cpu_op", "aten::mm", 0, 10), _launch("cudaLaunchKernel", 1, 1))
    assert [(each.graph, each.operator) for each in launches] == [(0, "aten::mm")]


@pytest.mark.parametrize("data", [b"", b"[", b'{"traceEvents": 5}', b'{"traceEvents": ["a"]}'])
def test_other_files_are_not_captures(data: bytes) -> None:
    with pytest.raises(SidecarError):
        read_capture(data)


def test_provenance_of_three_kinds_of_files() -> None:
    provenance: Provenance = {}
    trace = '  File "/home/u/model.py", line 12, in forward\n    return x.relu()\n'
    mapping = {
        "preToPost": {"relu": ["relu_1"]},
        "postToPre": {"relu_1": ["relu"], "add_2": []},
        "cppCodeToPost": {"triton_poi_fused_add_relu_0:1": ["relu_1", "add_2"]},
        "postToCppCode": {},
        "version": 2.0,
    }
    read_provenance(json.dumps(mapping).encode(), provenance)
    read_provenance(json.dumps({"triton_poi_fused_add_relu_0:1": [trace]}).encode(), provenance)
    information = {
        "extern_kernels.mm:2": {
            "stack_traces": [trace, trace],
            "post_grad_nodes": ["mm_1"],
            "pre_grad_nodes": [],
        }
    }
    read_provenance(json.dumps(information).encode(), provenance)
    assert provenance_frame(provenance).rows() == [
        ("triton_poi_fused_add_relu_0", trace, "relu, add_2"),
        ("extern_kernels.mm", trace, "mm_1"),
    ]


def test_provenance_that_torch_writes() -> None:
    """The first half of ``samples/record/compiled.py``: ``hidden = relu(first(batch))``."""
    provenance: Provenance = {}
    read_provenance(
        (DATA / "inductor_provenance_tracking_node_mappings.json").read_bytes(), provenance
    )
    assert provenance_frame(provenance).rows() == [
        ("extern_kernels.addmm", None, "linear"),
        ("cpp_fused_relu_0", None, "hidden"),
    ]


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"a": 1}', b"\xff", b"[" * 9000])
def test_other_files_are_not_provenance(data: bytes) -> None:
    with pytest.raises(SidecarError):
        read_provenance(data, {})


def test_mappings_that_expand_are_truncated() -> None:
    """Half a megabyte of JSON that names 10**9 nodes."""
    before = [f"n{at}" for at in range(50_000)]
    mapping = {"cppCodeToPost": {"k:1": ["a"] * 20_000}, "postToPre": {"a": before}}
    provenance: Provenance = {}
    read_provenance(json.dumps(mapping).encode(), provenance)
    assert list(provenance["k"][1]) == before[:1000]


def test_nesting_deeper_than_any_program_is_left_out() -> None:
    """Each launch scans all open slices, and a file of some megabytes may open a million."""
    deep = [_slice("python_function", f"nn.Module: m{at}", at, 9000 - at) for at in range(3000)]
    launches = _capture(*deep, _launch("cudaLaunchKernel", 4000, 1))
    assert [each.module.count(".") + 1 for each in launches] == [2000]


def test_names() -> None:
    assert sidecar_kind("kernel_annotations_rank0_123.pkl", in_captures=False) == "annotations"
    assert sidecar_kind("graph_capture_rank_0.17.pt.trace.json.gz", in_captures=False) == "capture"
    assert sidecar_kind("bs_8_rank0.json.gz", in_captures=True) == "capture"
    assert sidecar_kind("execution_details.json", in_captures=True) is None
    assert sidecar_kind("kernel_information.json", in_captures=False) == "provenance"
    assert sidecar_kind("worker0.pt.trace.json", in_captures=False) is None
    names = "cuda_graph_capture-Runner-TP-3.json.gz", "000012.1.pt.trace.json", "rank_7.json", "a"
    assert [rank_of(name) for name in names] == [3, 12, 7, None]
    both = ["a_rank0.pkl", "a_rank1.pkl", "a.pkl"]
    assert select_rank(both, 1) == ["a_rank1.pkl", "a.pkl"]
    assert select_rank(both, None) == ["a.pkl"]
    assert select_rank(["a_rank3.pkl"], None) == ["a_rank3.pkl"]


def _read(files: dict[str, bytes], **kinds: list[str]) -> Sidecars:
    def read(name: str, limit: int) -> bytes:
        if len(files[name]) > limit:
            raise sidecars_read.TooLargeError("too large")
        return files[name]

    return read_sidecars(kinds, read, {"c.json": (16, "FULL")})  # type: ignore[arg-type]


def test_unreadable_files_are_counted_and_the_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = json.dumps({"traceEvents": [_launch("cudaLaunchKernel", 1, 1)]}).encode()
    files = {
        "a_rank0.pkl": pickle.dumps({1: ["x"]}),
        "b.pkl": pickle.dumps(object),
        "c.json": launch,
        "d.json": b"{}",
        "e.json": launch + b" " * 5000,
        "f.json": launch,
    }
    monkeypatch.setenv(LIMITS_VARIABLE, "side_file_bytes=5000,side_files=5")
    sidecars = _read(
        files,
        annotations=["a_rank0.pkl", "b.pkl"],
        capture=["c.json", "d.json", "e.json", "f.json"],
    )
    tables = {table.name: table for table in sidecars.tables}
    assert tables["graph_annotations"].frame.height == 1
    assert tables["captured_kernels"].source == "c.json"
    assert tables["captured_kernels"].frame["batch_size"].to_list() == [16]
    assert sidecars.quality.counts == {"beside_unread": 2, "beside_left_out": 2}


def test_details_of_captures() -> None:
    content = [{"file": "a", "batch_size": 4, "mode": "FULL"}, {"file": "b", "batch_size": "9"}, 5]
    assert read_details(json.dumps(content).encode()) == {"a": (4, "FULL"), "b": (None, None)}
    assert read_details(b"{") == {}


ODD = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
)  # fmt: skip
EVENT = st.fixed_dictionaries(
    {"ph": st.just("X")},
    optional={
        "cat": st.sampled_from(["cpu_op", "cuda_runtime", "python_function"]) | ODD,
        "name": st.sampled_from(["cudaLaunchKernel", "cudaStreamBeginCapture", "aten::mm"]) | ODD,
        "ts": st.integers(0, 9) | ODD,
        "dur": st.integers(0, 9) | ODD,
        "pid": ODD,
        "tid": ODD,
        "args": st.dictionaries(st.sampled_from(["correlation", "kernel", "Input Dims"]), ODD),
    },
)


@given(st.lists(EVENT, max_size=6))
def test_odd_events_do_not_affect_others(events: list[dict[str, Any]]) -> None:
    good = [_slice("cpu_op", "aten::mm", 100, 10), _launch("cudaLaunchKernel", 101, 77)]
    launches = _capture(*events, *[{**event, "pid": "own"} for event in good])
    assert any(each.operator == "aten::mm" for each in launches) or any(
        event.get("name") == "cudaStreamBeginCapture" for event in events
    )
