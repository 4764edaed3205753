"""Kernels, copies, sets and whole graphs, value by value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.importers.nsys.exports import (
    CALL,
    COPY,
    GRAPH,
    KERNEL,
    SET,
    call,
    columns_of,
    global_pid,
    kernel,
    names_of,
    strings,
    trace_of,
)
from torch_tb_profiler.trace.columns import ABSENT

GPU = {"vmId": 1 << 48, "id": 0, "name": "A GPU", "smCount": 4, "computeMajor": 9}


def test_a_kernel_column_by_column(tmp_path: Path) -> None:
    columns = columns_of(
        tmp_path,
        {
            "StringIds": strings("void f<int>(int)", "f", "cudaLaunchKernel_v7000"),
            "TARGET_INFO_GPU": [GPU],
            KERNEL: [
                kernel(
                    100, 250, shortName=2, registersPerThread=40, gridX=6, gridY=2, gridZ=1,
                    blockX=64, blockY=2, blockZ=1, staticSharedMemory=16, dynamicSharedMemory=1024,
                    sharedMemoryExecuted=32768, graphNodeId=77,
                )
            ],
            CALL: [call(50, 60, 3)],
        },
    )  # fmt: skip
    work, texts = columns.tables["device"], columns.strings
    assert names_of(columns, "kernel") == ["void f<int>(int)"]
    assert names_of(columns, "cuda_runtime") == ["cudaLaunchKernel"]
    assert [texts[work["grid_code"][0]], texts[work["block_code"][0]]] == [
        "[6, 2, 1]",
        "[64, 2, 1]",
    ]
    assert (work["registers_per_thread"][0], work["shared_memory_bytes"][0]) == (40, 1040)
    assert (work["device"][0], work["stream"][0], work["graph_node"][0]) == (0, 7, 77)
    assert (work["blocks_per_sm"][0], work["warps_per_sm"][0]) == (12 / 4, 12 * 128 / 32 / 4)
    assert np.isnan(work["est_achieved_occupancy_pct"][0])
    assert columns.tables["slices"]["dur_ns"].tolist() == [10, 150]


def test_names_fall_back(tmp_path: Path) -> None:
    rows = [
        kernel(0, 1, demangledName=None, shortName=2, mangledName=3),
        kernel(1, 2, demangledName=99, shortName=None, mangledName=3),
        kernel(2, 3, demangledName=None),
    ]
    columns = columns_of(tmp_path, {"StringIds": strings("d", "s", "_Zm"), KERNEL: rows})
    assert names_of(columns, "kernel") == ["s", "_Zm", "(unnamed)"]
    assert columns.quality.counts["missing_name"] == 1
    assert columns.quality.counts["nsys_text_missing"] == 1


def test_nothing_known_of_the_device_is_null(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, {"StringIds": strings("f"), KERNEL: [kernel(0, 5)]})
    row = trace.device_work.row(0, named=True)
    assert row["blocks_per_sm"] is None
    assert row["shared_memory_bytes"] is None
    reasons = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    assert reasons["device_properties"] == "Not traced: the table TARGET_INFO_GPU is absent."
    assert reasons["runtime"] == "Not traced: the table CUPTI_ACTIVITY_KIND_RUNTIME is absent."
    assert "occupancy" in reasons


def copy(kind: int | None, source: int | None, target: int | None) -> dict[str, object]:
    return {
        **kernel(0, 5), "bytes": 4096, "copyKind": kind, "srcKind": source, "dstKind": target
    }  # fmt: skip


def test_copies_have_the_names_of_other_formats(tmp_path: Path) -> None:
    rows = [
        copy(1, 1, 2), copy(2, 2, 0), copy(8, 2, 2), copy(10, 2, 2), copy(1, None, None),
        copy(11, 4, 2), copy(99, 7, 7), copy(None, None, None),
    ]  # fmt: skip
    columns = columns_of(tmp_path, {"StringIds": strings(), COPY: rows})
    assert names_of(columns, "gpu_memcpy") == [
        "Memcpy HtoD (Pinned -> Device)",
        "Memcpy DtoH (Device -> Pageable)",
        "Memcpy DtoD (Device -> Device)",
        "Memcpy PtoP (Device -> Device)",
        "Memcpy HtoD",
        "Memcpy HtoD (Unified)",
        "Memcpy",
        "Memcpy",
    ]
    assert columns.tables["device"]["bytes"].tolist() == [4096] * 8


def test_constants_come_from_the_export(tmp_path: Path) -> None:
    kinds = [{"id": 21, "name": "CUDA_MEMCPY_KIND_DTOH", "label": "Device-to-Host"}]
    columns = columns_of(
        tmp_path, {"StringIds": strings(), COPY: [copy(21, 2, 1)], "ENUM_CUDA_MEMCPY_OPER": kinds}
    )
    assert names_of(columns, "gpu_memcpy") == ["Memcpy DtoH (Device -> Pinned)"]


def test_memsets(tmp_path: Path) -> None:
    rows = [{**kernel(0, 5), "bytes": 7, "memKind": kind} for kind in (2, 1, None)]
    columns = columns_of(tmp_path, {"StringIds": strings(), SET: rows})
    assert names_of(columns, "gpu_memset") == ["Memset (Device)", "Memset (Pinned)", "Memset"]


def test_a_graph_without_its_kernels(tmp_path: Path) -> None:
    graphs = [
        {**kernel(100, 900, correlationId=5), "graphId": 3},
        {**kernel(0, 0, correlationId=6), "graphId": 3},
    ]
    trace = trace_of(
        tmp_path,
        {
            "StringIds": strings("cudaGraphLaunch_v10000"),
            GRAPH: graphs,
            CALL: [call(50, 60, 1, correlationId=5), call(70, 80, 1, correlationId=6)],
        },
    )
    (row,) = trace.device_work.iter_rows(named=True)
    assert (trace.strings[row["name_code"]], row["dur_ns"]) == ("CUDA graph 3", 800)
    assert trace.strings[trace.slices["name_code"][row["launch"]]] == "cudaGraphLaunch"
    assert trace.quality.counts["graph_without_kernels"] == 2
    assert trace.quality.counts["graph_without_time"] == 1
    reasons = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    assert reasons["graph_kernels"] == reasons["kernels"]
    assert reasons["graph_kernels"].startswith("2 launches of CUDA graphs")
    assert "--cuda-graph-trace=node" in reasons["graph_kernels"]


@pytest.mark.parametrize(
    ("end", "duration", "code"),
    [(None, 0, "missing_duration"), (5, 0, "negative_duration"), (2**61, 10, "huge_duration")],
)
def test_invalid_range_ends(tmp_path: Path, end: int | None, duration: int, code: str) -> None:
    rows = [kernel(10, 20), {**kernel(10, 0), "end": end}]
    columns = columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: rows})
    assert columns.tables["slices"]["dur_ns"].tolist() == [10, duration]
    assert columns.quality.counts[code] == 1


def test_rows_without_a_time_are_counted(tmp_path: Path) -> None:
    rows = [kernel(10, 20), {**kernel(0, 30), "start": None}, kernel(40, 50, streamId=9)]
    columns = columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: rows})
    assert columns.tables["device"]["stream"].tolist() == [7, 9]
    assert columns.tables["device"]["slice"].tolist() == [0, 1]
    assert columns.quality.counts["event_without_time"] == 1


def test_implausible_sizes_are_absent(tmp_path: Path) -> None:
    rows = [kernel(0, 1, registersPerThread=-3, staticSharedMemory=2**60, dynamicSharedMemory=1)]
    columns = columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: rows})
    work = columns.tables["device"]
    assert work["registers_per_thread"][0] == work["shared_memory_bytes"][0] == ABSENT


def test_streams_of_one_number_are_distinct(tmp_path: Path) -> None:
    rows = [
        kernel(0, 9),
        kernel(0, 9, contextId=2),
        kernel(0, 9, globalPid=global_pid(11)),
    ]
    columns = columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: rows})
    assert len(set(columns.tables["slices"]["track"].tolist())) == 3
    assert sorted(track.thread_name or "" for track in columns.tracks) == [
        "stream 7, context 1, process 10",
        "stream 7, context 2, process 10",
        "stream 7, process 11",
    ]


def test_graphs_without_recorded_kernels(tmp_path: Path) -> None:
    tables = {"StringIds": strings("f", "cudaGraphLaunch_v10000"), CALL: [call(0, 5, 2)]}
    mode = [{"name": "CUDA_GRAPH_TRACE_OPTIONS:MODE", "value": "Graph"}]
    for settings, is_expected in ((mode, True), ([], False)):
        columns = columns_of(tmp_path, {**tables, "META_DATA_CAPTURE": [*settings, {"name": "x"}]})
        assert (
            "graph_kernels" in {each.capability for each in columns.info.not_recorded}
        ) is is_expected
