"""Calls of the host, what the recorder cost, and which call launched what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    call,
    columns_of,
    global_pid,
    global_tid,
    kernel,
    names_of,
    strings,
    trace_of,
)
from torch_tb_profiler.importers.nsys.text import api_name, executable
from torch_tb_profiler.trace.categories import Category


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
        ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo"),
        ("cuLaunchKernelEx", "cuLaunchKernelEx"),
        ("my_view", "my_view"),
        ("_v2", "_v2"),
    ],
)
def test_names_of_the_documentation(written: str, shown: str) -> None:
    assert api_name(written) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("/home/me/env/bin/python3 train.py --token=x", "python3"),
        ("C:\\tools\\app.exe", "app.exe"),
        (r"C:\Users\Jane Doe\env\python.exe train.py --out=D:\x.exe", "python.exe"),
        ('"/opt/of jane/run" --token=x', "run"),
        ("./saxpy", "saxpy"),
        ("ray::Worker", "ray::Worker"),
        ("", ""),
    ],
)
def test_names_of_programs(written: str, shown: str) -> None:
    assert executable(written) == shown


def test_runtime_and_driver(tmp_path: Path) -> None:
    rows = [call(0, 5, 1), call(6, 9, 2, eventClass=1, correlationId=2)]
    columns = columns_of(
        tmp_path, {"StringIds": strings("cudaMalloc_v3020", "cuLaunchKernel"), CALL: rows}
    )
    assert names_of(columns, "cuda_runtime") == ["cudaMalloc"]
    assert names_of(columns, "cuda_driver") == ["cuLaunchKernel"]
    assert set(columns.tables["slices"]["category"]) == {Category.RUNTIME}


def test_a_call_repeated_for_its_backtrace_is_one_call(tmp_path: Path) -> None:
    rows = [
        call(10, 20, 1),
        call(9, 21, 2, eventClass=67),
        call(30, 40, 2, eventClass=67, correlationId=3),
    ]
    names = strings("cudaFree_v3020", "cudaFree")
    trace = trace_of(tmp_path, {"StringIds": names, CALL: rows})
    calls = trace.slices.filter(trace.slices["category"] == Category.RUNTIME)
    assert calls["start_ns"].to_list() == [10, 30]
    assert trace.slices.height == 3


def test_correlations_are_unique_within_a_process(tmp_path: Path) -> None:
    calls = [call(0, 1, 1, correlationId=8, globalTid=global_tid(pid, pid)) for pid in (10, 11)]
    kernels = [
        kernel(50 + pid, 100, correlationId=8, globalPid=global_pid(pid)) for pid in (11, 10, 12)
    ]
    trace = trace_of(tmp_path, {"StringIds": strings("f"), CALL: calls, KERNEL: kernels})
    started = trace.device_work.sort("start_ns")["launch"]
    track = trace.slices["track"].gather(started.drop_nulls())
    assert trace.tracks["pid"].gather(track).to_list() == ["10", "11"]
    assert started[2] is None
    assert trace.quality.counts["kernel_without_launch"] == 1


def test_work_without_a_process_belongs_to_the_only_process(tmp_path: Path) -> None:
    calls = [call(0, 1, 1, correlationId=8)]
    kernels = [kernel(50, 100, correlationId=8, globalPid=None)]
    trace = trace_of(tmp_path, {"StringIds": strings("f"), CALL: calls, KERNEL: kernels})
    assert trace.device_work["launch"].to_list() == [0]
    assert "kernel_without_launch" not in trace.quality.counts


def test_overhead_names_no_file(tmp_path: Path) -> None:
    thread = global_tid(10, 10)
    columns = columns_of(
        tmp_path,
        {
            "StringIds": strings("Lazy loading", "dlopen(/home/me/lib.so)"),
            "CUPTI_ACTIVITY_KIND_OVERHEAD": [
                {"start": 0, "end": 4, "globalTid": thread, "nameId": 1, "overheadType": 7},
                {"start": 5, "end": 6, "globalTid": thread, "nameId": None, "overheadType": 3},
            ],
            "PROFILER_OVERHEAD": [{"start": 7, "end": 9, "globalTid": thread, "nameId": 2}],
        },
    )
    assert names_of(columns, "overhead") == ["Lazy loading", "CUPTI buffer flush"]
    assert names_of(columns, "profiler_overhead") == ["dlopen"]
    assert not any("home" in text for text in columns.strings)


def test_library_calls_are_ranges_but_system_calls_are_not(tmp_path: Path) -> None:
    thread = global_tid(10, 10)
    row = {"start": 0, "end": 100, "globalTid": thread}
    trace = trace_of(
        tmp_path,
        {
            "StringIds": strings("cublasSgemm_v2", "poll", "MPI_Send", "cudaLaunchKernel", "k"),
            "CUBLAS_EVENTS": [{**row, "nameId": 1}],
            "OSRT_API": [{**row, "start": 40, "end": 60, "nameId": 2}],
            "MPI_P2P_EVENTS": [{**row, "start": 200, "end": 300, "textId": 3}],
            CALL: [call(45, 50, 4)],
            KERNEL: [kernel(70, 90, demangledName=5)],
        },
    )
    (owner,) = trace.device_work["owner"].to_list()
    assert trace.strings[trace.slices["name_code"][owner]] == "cublasSgemm"
    kinds = {
        trace.strings[code]: kind
        for code, kind in trace.slices.select("name_code", "category").rows()
    }
    assert kinds["poll"] == Category.HOST_OTHER
    assert kinds["MPI_Send"] == Category.ANNOTATION
