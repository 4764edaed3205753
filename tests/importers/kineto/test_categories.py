"""Categories and naming conventions of every vendor and release."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns


def read_events(*events: dict[str, Any]) -> EventColumns:
    filled = [{"ph": "X", "name": "n", "pid": 1, "tid": 1, "ts": 1, "dur": 1} | e for e in events]
    return read_bytes(json.dumps({"traceEvents": filled}).encode())


def categories(*events: dict[str, Any]) -> list[Category]:
    categories = read_events(*events).tables["slices"]["category"].tolist()
    return [Category(value) for value in categories]


@pytest.mark.parametrize(
    ("word", "category"),
    [
        ("Operator", Category.OPERATOR),
        ("cpu_op", Category.OPERATOR),
        ("python", Category.PYTHON_OPERATOR),
        ("user_annotation", Category.ANNOTATION),
        ("python_function", Category.PYTHON_FUNCTION),
        ("Runtime", Category.RUNTIME),
        ("cuda_runtime", Category.RUNTIME),
        ("cuda_driver", Category.RUNTIME),
        ("xpu_runtime", Category.RUNTIME),
        ("xpu_driver", Category.RUNTIME),
        ("mtia_runtime", Category.RUNTIME),
        ("privateuse1_runtime", Category.RUNTIME),
        ("privateuse1_driver", Category.RUNTIME),
        ("hip_runtime", Category.RUNTIME),
        ("glow_runtime", Category.RUNTIME),
        ("newvendor_driver", Category.RUNTIME),
        ("Kernel", Category.KERNEL),
        ("kernel", Category.KERNEL),
        ("mtia_ccp_events", Category.KERNEL),
        ("Memcpy", Category.MEMCPY),
        ("gpu_memcpy", Category.MEMCPY),
        ("Memset", Category.MEMSET),
        ("gpu_memset", Category.MEMSET),
        ("gpu_user_annotation", Category.DEVICE_ANNOTATION),
        ("gpu_user_Annotation", Category.DEVICE_ANNOTATION),
        ("cuda_sync", Category.DEVICE_SYNC),
        ("xpu_sync", Category.DEVICE_SYNC),
        ("overhead", Category.OVERHEAD),
        ("Trace", Category.SPAN),
    ],
)
def test_raw_categories(word: str, category: Category) -> None:
    columns = read_events({"cat": word})

    assert columns.tables["slices"]["category"].tolist() == [category]
    assert columns.quality.counts == {}


def test_ranges_the_profiler_names_are_host_side_only() -> None:
    named = {
        "ProfilerStep#12": Category.STEP,
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": Category.DATALOADER,
        "enumerate(DataPipe)#X": Category.DATALOADER,
        "Optimizer.step#SGD.step": Category.OPTIMIZER,
        "Optimizer.zero_grad#SGD.zero_grad": Category.OPTIMIZER,
        "ProfilerStep": Category.ANNOTATION,
        "my ProfilerStep#1": Category.ANNOTATION,
    }
    for name, category in named.items():
        assert categories({"cat": "user_annotation", "name": name}) == [category]
        device = categories({"cat": "gpu_user_annotation", "name": name})
        assert device == [Category.DEVICE_ANNOTATION]
    assert categories({"cat": "Operator", "name": "ProfilerStep#1"}) == [Category.STEP]
    assert categories({"cat": "kernel", "name": "ProfilerStep#1"}) == [Category.KERNEL]


def test_frames_with_a_module_id_are_modules() -> None:
    frame = {"cat": "python_function", "name": "nn.Module: Conv2d_0", "args": {"Python id": 1}}
    module = frame | {"args": {"Python id": 2, "Python parent id": 1, "Python module id": 0}}

    assert categories(frame, module) == [Category.PYTHON_FUNCTION, Category.MODULE]


def test_unknown_categories_by_arguments_and_track() -> None:
    label = {"ph": "M", "name": "process_labels", "pid": 7, "args": {"labels": "GPU 7"}}
    columns = read_events(
        {"cat": "new_thing"},
        {"cat": "new_thing", "args": {"device": 0, "stream": 7}},
        {"cat": "new_thing", "pid": 7},
        {"cat": "new_thing", "pid": 7, "name": "Memcpy DtoH"},
        {"cat": "concurrent_kernel", "pid": 7},
        label,
    )

    categories = columns.tables["slices"]["category"].tolist()
    assert categories == [
        Category.HOST_OTHER, Category.DEVICE_OTHER, Category.DEVICE_OTHER, Category.MEMCPY,
        Category.KERNEL,
    ]  # fmt: skip
    assert columns.quality.counts == {"unknown_category": 5}


@pytest.mark.parametrize("category", ["graph_event_node", "graph_host_node"])
def test_other_nodes_of_graphs_are_no_device_work(category: str) -> None:
    """Those of torch 2.15: event records, and callbacks that the host runs."""
    columns = read_events({"cat": category, "args": {"device": 0, "stream": 7}})

    assert columns.tables["slices"]["category"].tolist() == [Category.DEVICE_OTHER]
    assert columns.quality.counts == {}


def test_missing_categories_by_name_and_track() -> None:
    on_device = {"args": {"device": 0, "stream": 7}}
    columns = read_events(
        {"name": "aten::mm"},
        {"name": "cudaLaunchKernel"},
        {"name": "gemm"} | on_device,
        {"name": "Memcpy HtoD (Pageable -> Device)"} | on_device,
        {"name": "Memset (Device)"} | on_device,
        {"name": "ProfilerStep#1"},
    )

    assert [Category(value) for value in columns.tables["slices"]["category"].tolist()] == [
        Category.OPERATOR, Category.RUNTIME, Category.KERNEL, Category.MEMCPY, Category.MEMSET,
        Category.STEP,
    ]  # fmt: skip
    assert columns.quality.counts == {"missing_category": 6}


def test_unread_phases_are_counted() -> None:
    columns = read_events(
        {"ph": "b"}, {"ph": "N"}, {"ph": 5}, {"ph": "X"}, {"ph": "s", "cat": "ac2g"}
    )

    assert columns.tables["slices"]["start_ns"].size == 1
    assert columns.quality.counts["unknown_phase"] == 3


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("event_wait", Category.DEVICE_SYNC),
        ("dma_request", Category.MEMCPY),
        ("fused_gemm", Category.KERNEL),
        ("event_wait_kernel", Category.KERNEL),
    ],
)
def test_mtia_tasks_that_are_not_kernels(name: str, category: Category) -> None:
    assert categories({"cat": "mtia_ccp_events", "name": name}) == [category]
