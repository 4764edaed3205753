"""Ascend's rows go by their process; its files are told by any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.kineto.reference import read_file
from tests.importers.kineto.test_unsorted import categories, read_rows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT


def test_ascends_rows_go_by_their_process() -> None:
    columns = read_rows(
        (3, "NPU", "Ascend Hardware", "Stream 3"),
        (4, "NPU", "Ascend Hardware", "Step Trace(Model ID:2)"),
        (5, "NPU", "HCCL", "Communication Kernel"),
        (6, "NPU", "HCCL", "Plane 0"),
        (7, "NPU", "Overlap Analysis", "Free"),
        (8, "CPU", "CANN", "Thread 5"),
        (9, "CPU", "Python", "Thread 5"),
    )
    assert categories(columns) == [
        Category.KERNEL, Category.DEVICE_OTHER, Category.KERNEL, Category.DEVICE_OTHER,
        Category.DEVICE_OTHER, Category.RUNTIME, Category.OPERATOR,
    ]  # fmt: skip
    assert columns.quality.counts == {"missing_category": 7, "ascend_trace": 1}
    assert set(columns.tables["device"]["device"].tolist()) <= {0, ABSENT}, "no pid is a device"


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("MEMCPY_ASYNC", Category.MEMCPY),
        ("NOTIFY_WAIT", Category.DEVICE_SYNC),
        ("EVENT_RECORD", Category.DEVICE_SYNC),
        ("Default/network/Cast-op239", Category.KERNEL),
    ],
)
def test_what_only_waits_on_a_device_is_no_work(name: str, category: Category) -> None:
    columns = read_rows((3, "NPU", "Ascend Hardware", "Stream 3"), name=name)
    assert categories(columns) == [category]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hccl_0_2_1.json", {Category.KERNEL, Category.DEVICE_OTHER}),
        ("step_trace_0_2_1.json", {Category.DEVICE_OTHER}),
    ],
)
def test_real_files_of_single_rows(corpus: Path, name: str, expected: set[Category]) -> None:
    columns = read_file(corpus / "ascend_mindspore" / name)
    assert set(categories(columns)) == expected
    assert columns.quality.counts["ascend_trace"] == 1
