"""Rows are classified by their process, and files are detected by any such process."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.importers.kineto.reference import read_file
from tests.importers.kineto.test_uncategorized import categories, read_rows
from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.ascend.dialect import device_of, with_device
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Track
from torch_tb_profiler.views.overview.view import overview


def test_rows_are_classified_by_their_process() -> None:
    columns = read_rows(
        (3, "NPU", "Ascend Hardware", "Stream 3"),
        (4, "NPU", "Ascend Hardware", "Step Trace(Model ID:2)"),
        (5, "NPU", "HCCL", "Communication Kernel"),
        (6, "NPU", "HCCL", "Plane 0"),
        (7, "NPU", "Overlap Analysis", "Free"),
        (8, "CPU", "CANN", "Thread 5"),
        (9, "CPU", "Python", "Thread 5"),
        (10, "CPU", "Python GC", "Thread 5"),
    )
    assert categories(columns) == [
        Category.KERNEL, Category.DEVICE_OTHER, Category.KERNEL, Category.DEVICE_OTHER,
        Category.DEVICE_OTHER, Category.RUNTIME, Category.OPERATOR,
        Category.HOST_OTHER,
    ]  # fmt: skip
    assert columns.quality.counts == {"missing_category": 1, "ascend_trace": 1}, "Python has some"
    assert set(columns.tables["device"]["device"].tolist()) <= {0, ABSENT}, "no pid is a device"


@pytest.mark.parametrize(
    ("track", "device"),
    [
        (Track("3170822561", "2", process_label="NPU", process_sort_index=13), 1),
        (Track("3170822560", "2", process_label="NPU", process_sort_index=13), 0),
        (Track("3170822561", "2", process_label="NPU", process_sort_index=12), None),
        (Track("3170822561", "2", process_label="NPU"), None),
        # msprof of 2021: 100 times the process, and the layer.
        (Track("1003611", "2", process_label="NPU", process_sort_index=11), None),
        (Track("11", "2", process_label="NPU", process_sort_index=0), None),
        (Track("Spans", "2", process_label="NPU", process_sort_index=0), None),
    ],
)
def test_the_device_is_in_the_number_of_a_process(track: Track, device: int | None) -> None:
    assert device_of(track) == device
    assert with_device(track).process_label == ("NPU" if device is None else f"NPU {device}")


def test_labels_with_a_number_and_of_hosts_stay() -> None:
    for label in ("NPU 3", "CPU", None):
        track = Track("3170822561", "2", process_label=label, process_sort_index=13)
        assert with_device(track) is track


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("MEMCPY_ASYNC", Category.MEMCPY),
        ("NOTIFY_WAIT", Category.DEVICE_SYNC),
        ("EVENT_RECORD", Category.DEVICE_SYNC),
        ("Notify Wait", Category.DEVICE_SYNC),
        ("Write Value", Category.DEVICE_SYNC),
        ("REDUCE_ASYNC_V2", Category.DEVICE_OTHER),
        ("SDMA", Category.DEVICE_OTHER),
        ("Default/network/Cast-op239", Category.KERNEL),
    ],
)
def test_waits_on_a_device_are_not_work(name: str, category: Category) -> None:
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


NPU = "ascend_torch_npu/text/level1/rank{}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"


@pytest.mark.parametrize(
    "path",
    ["ascend_mindspore/msprof_0_2_1.json", NPU.format(0), NPU.format(1)],
)
def test_computing_and_communication_are_what_ascends_own_analysis_says(
    corpus: Path, path: str
) -> None:
    """The rows of "Overlap Analysis" are its tools' own answer, in µs."""
    events = json.loads((corpus / path).read_text(encoding="utf-8"))
    own = {
        name: sum(float(e["dur"]) for e in events if e.get("ph") == "X" and e["name"] == name)
        for name in ("Computing", "Communication")
    }
    trace = build_trace(read_file(corpus / path))
    kinds, work = kernel_kinds(trace), trace.device_work
    start, dur = work["start_ns"].to_numpy(), work["dur_ns"].to_numpy()

    for name, rows in (
        ("Computing", kinds.is_kernel & ~kinds.is_communication),
        ("Communication", kinds.is_communication),
    ):
        computed = total(union(start[rows], (start + dur)[rows])) / 1000
        assert computed == pytest.approx(own[name], abs=0.1), name


def test_an_all_reduce_of_hccl_is_communication(corpus: Path) -> None:
    trace = build_trace(read_file(corpus / "ascend_mindspore" / "hccl_0_2_1.json"))

    assert kernel_kinds(trace).is_communication.tolist() == [True]
    assert trace.device_work["dur_ns"].sum() == 41_534_300


def test_copies_of_a_collective_are_part_of_it(corpus: Path) -> None:
    """Streams 3, 10, 12 and 13 of the file notify other devices; only they have copies."""
    trace = build_trace(read_file(corpus / "ascend_mindspore" / "msprof_0_2_1.json"))
    average = overview(trace, Selection()).tables["average_step"].frame
    times_us = dict(average.select("category", "duration_us").rows())

    assert times_us["Communication"] == pytest.approx(41_534.3)
    assert times_us["Memcpy"] == 0


def test_copies_next_to_collectives_stay_copies(corpus: Path) -> None:
    """Streams 2 and 3 of torch_npu's file copy; stream 4 is that of the collective."""
    trace = build_trace(read_file(corpus / NPU.format(0)))
    copies = trace.device_work.filter(pl.col("category") == Category.MEMCPY)

    assert copies.height == 24
    assert copies["dur_ns"].sum() == pytest.approx(878_900, abs=1_000)
