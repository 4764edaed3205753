"""Text files and database of one run give equal views, except for data that only one has."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.helpers.ascend import Run, read_folder, write_database, write_text
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View

OTHERWISE = ("slice", "id", "start_id", "source")
"""Columns that differ: row numbers (the order differs), and file names."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Trace]:
    folder = tmp_path_factory.mktemp("run")
    text = write_text(folder / "a_ascend_pt", Run())
    database = write_database(folder / "b_ascend_pt", Run())
    return build_trace(read_folder(text)), build_trace(read_folder(database))


def owners(trace: Trace) -> list[tuple[str | None, ...]]:
    names = trace.slices["name_code"]
    rows = trace.device_work.sort("start_ns").select("name_code", "launch", "owner").rows()
    return [
        (trace.text(name), *(None if s is None else trace.text(names[s]) for s in links))
        for name, *links in rows
    ]


def test_work_is_linked_through_the_queue_and_without_it(both: tuple[Trace, Trace]) -> None:
    for trace in both:
        assert owners(trace) == [
            ("mm_MemSet", "Node@launch", "aten::mm"),
            ("mm_MatMul", "Node@launch", "aten::mm"),
            ("MEMCPY_ASYNC", "AscendCL@aclrtMemcpy", "aten::copy_"),
            ("hcom_allReduce__586_0_1", "Node@launch", "HcclAllreduce"),
        ]
        assert trace.quality.counts.get("kernel_without_launch") is None


def test_without_calls_the_operator_at_the_arrow_launched_the_work(tmp_path: Path) -> None:
    """As ``Level0`` records it."""
    run = Run(calls=[], host=[each for each in Run().host if each[0] == "op"])
    for write, name in ((write_text, "a_ascend_pt"), (write_database, "b_ascend_pt")):
        trace = build_trace(read_folder(write(tmp_path / name, run)))
        assert owners(trace) == [
            ("mm_MemSet", "aten::mm", "aten::mm"),
            ("mm_MatMul", "aten::mm", "aten::mm"),
            ("MEMCPY_ASYNC", "aten::copy_", "aten::copy_"),
            ("hcom_allReduce__586_0_1", "HcclAllreduce", "HcclAllreduce"),
        ]
        assert "kernel_without_launch" not in trace.quality.counts


def test_unlinked_work_is_counted(tmp_path: Path) -> None:
    run = Run(calls=[], host=[("op", "aten::mm", 700, 0, 100, ())])
    for write, name in ((write_text, "a_ascend_pt"), (write_database, "b_ascend_pt")):
        trace = build_trace(read_folder(write(tmp_path / name, run)))
        assert trace.device_work["owner"].null_count() == 4
        assert trace.quality.counts["kernel_without_launch"] == 4


def views_of(trace: Trace) -> dict[str, View]:
    views = {}
    for name, spec in all_views().items():
        if spec.scope != "pair" and spec.missing(trace) is None:
            first = {"rank0": trace} if spec.scope == "run" else trace
            views[name] = spec.function(first, Selection())  # type: ignore[call-arg, arg-type]
    return views


def test_every_table_of_every_view_is_the_same(both: tuple[Trace, Trace]) -> None:
    text, database = (views_of(trace) for trace in both)
    assert text.keys() == database.keys()
    compared = 0
    for name, view in text.items():
        for key, table in view.tables.items():
            columns = [each for each in table.frame.columns if not each.endswith(OTHERWISE)]
            from_text, from_database = (
                each.frame.select(columns).sort(columns, nulls_last=True)
                for each in (table, database[name].tables[key])
            )
            assert_frame_equal(from_text, from_database, check_exact=False, abs_tol=1e-3)
            compared += table.frame.height
    assert compared > 100


def test_differences_between_text_and_database(both: tuple[Trace, Trace]) -> None:
    """Text files report missing files and options, databases the device model."""
    text, database = both
    assert text.quality.counts.keys() - database.quality.counts.keys() == {
        "ascend_trace", "string_time", "ascend_file_missing",
    }  # fmt: skip
    assert database.quality.counts.keys() <= text.quality.counts.keys()


def test_memory_and_kernels_are_described(both: tuple[Trace, Trace]) -> None:
    for trace in both:
        assert trace.memory["bytes"].to_list() == [4096 << 10, -4096 << 10, 524_800]
        assert trace.memory["owner"].null_count() == 0
        assert [device.label for device in memory_records(trace).devices] == ["NPU 0"]
        grids = trace.device_work.sort("start_ns")["grid_code"].to_list()
        assert [trace.text(code) for code in grids[:2]] == ["[8, 1, 1]", "[24, 1, 1]"]
        inputs = trace.operators.drop_nulls("input_shape_code").row(0, named=True)
        assert trace.text(inputs["input_shape_code"]) == "[[4, 8], []]"
        assert trace.text(inputs["input_type_code"]) == '["float", "Scalar"]'
        assert trace.text(inputs["call_stack_code"]) == 'a.py(1): "f";b.py(2): g'
        ratios = trace.samples.filter(pl.Series(trace.samples["value"]) == 25)
        assert ratios.height == 2


def test_the_two_runs_of_the_corpus_launch_the_same_work(corpus: Path) -> None:
    """They are two recordings of one program: names and calls agree, times need not."""
    launches = []
    for kind in ("text", "db"):
        trace = build_trace(
            read_folder(corpus / "ascend_torch_npu" / kind / "level1" / "rank0_ascend_pt")
        )
        launches.append(
            {
                (name and re.sub(r"__\d+", "", name), launch, owner)
                for name, launch, owner in owners(trace)
            }
        )
    assert launches[0] == launches[1]
    assert len(launches[0]) > 80
