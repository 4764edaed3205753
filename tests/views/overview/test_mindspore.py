"""The parts of MindSpore Insight's overview, against the files that it shows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import kernel, op, step
from tests.importers.mindspore.folders import on_disk, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview.mindspore import FRAMEWORK, mindspore_parts
from torch_tb_profiler.views.overview.view import overview


def rows(trace: Trace) -> dict[tuple[str, str], dict[str, Any]]:
    (table,) = mindspore_parts(trace)
    return {(row["part"], row["item"]): row for row in table.frame.to_dicts()}


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    return corpus / "mindspore_r1" / "run_1_normal_run_profiler"


@pytest.fixture(scope="module")
def run(folder: Path) -> Trace:
    return opened(on_disk(folder, 1))


def test_the_timeline_is_summed_as_by_mindspore(folder: Path, run: Trace) -> None:
    summary = json.loads((folder / "timeline_summary_1.json").read_text())
    actual = rows(run)
    assert actual["timeline", "Streams"]["count"] == summary["num_of_streams"]
    assert actual["timeline", "Operators"]["count"] == summary["num_of_ops"]
    calls = actual["timeline", "Calls"]
    assert calls["count"] == summary["op_exe_times"]
    assert calls["time_us"] == pytest.approx(summary["total_time"])


def test_the_mean_step_is_that_of_the_file(folder: Path, run: Trace) -> None:
    with (folder / "step_trace_raw_1_detail_time.csv").open() as file:
        (mean,) = (row for row in csv.DictReader(file) if row["step_num"] == "-")
    actual = rows(run)
    whole = actual["step_trace", "Mean step"]
    assert (whole["time_us"], whole["count"]) == (int(mean["total"]) / 100, 322)
    for title, column in (("Interval", "iteration_interval"), ("Tail", "tail")):
        part = actual["step_trace", title]
        assert part["time_us"] == int(mean[column]) / 100
        assert part["pct"] == pytest.approx(int(mean[column]) / int(mean["total"]) * 100)


def test_types_have_the_shares_of_the_file(folder: Path, run: Trace) -> None:
    with (folder / "aicore_intermediate_1_type.csv").open() as file:
        types = sorted(csv.DictReader(file), key=lambda row: -float(row["total_time"]))
    shown = [row for (part, _), row in rows(run).items() if part == "operators"][1:]
    assert [row["item"] for row in shown[:4]] == [row["kernel_type"] for row in types[:4]]
    for row, expected in zip(shown[:4], types, strict=False):
        assert row["time_us"] == pytest.approx(float(expected["total_time"]) * 1000)
        assert row["pct"] == float(expected["percent"])
    rest = shown[4]
    assert rest["item"] == f"{sum(float(row['total_time']) > 0 for row in types) - 4} other types"
    assert rest["time_us"] == pytest.approx(sum(float(r["total_time"]) for r in types[4:]) * 1000)


def test_batches_that_found_an_empty_queue_and_the_emptiest_queue() -> None:
    queues = [
        {"queue": "device", "step": n, "size": size, "capacity": 8, "total_us": 10.0 * n}
        for n, size in enumerate((0, 3, 0, 5), start=1)
    ]
    pipeline = [
        {"operation": 0, "type": "Batch", "queue_pct": None},
        {"operation": 1, "type": "Map", "queue_pct": 12.5, "parent": 0},
        {"operation": 2, "type": "TFReader", "queue_pct": 90.0, "parent": 1},
    ]
    side = [side_table("queues", "q.txt", queues), side_table("pipeline", "p.csv", pipeline)]
    actual = rows(recorded([], side=side, framework=FRAMEWORK))
    empty = actual["data_preparation", "Batches with an empty device queue"]
    assert (empty["count"], empty["pct"]) == (2, 50)
    assert actual["data_preparation", "Mean wait for a batch"]["time_us"] == 25
    assert actual["data_preparation", "Emptiest queue: Map (1)"]["pct"] == 12.5


def test_without_sums_types_are_those_of_the_timeline() -> None:
    events = [
        step(1, 0, 100),
        kernel("Default/net/conv-Conv2d/Conv2D-op1", 0, 30),
        kernel("Conv2D-op2", 30, 10, stream=8),
        kernel("Cast-op3", 50, 10),
        kernel("ncclDevKernel_AllReduce_Sum", 60, 40, stream=9),
    ]
    actual = rows(recorded(events, framework=FRAMEWORK))
    assert actual["operators", "Conv2D"]["time_us"] == 40
    assert actual["operators", "Cast"]["pct"] == 20
    assert actual["timeline", "Streams"]["count"] == 2, "communication is none of them"


def test_other_recordings_have_no_such_table() -> None:
    steps = side_table("recorded_step_trace", "s.csv", [{"step": "1", "interval_us": 5}])
    assert mindspore_parts(recorded([op("a", 0, 1)], side=[steps])) == ()
    assert mindspore_parts(recorded([op("a", 0, 1)], framework=FRAMEWORK)) == ()
    trace = recorded([op("a", 0, 1)], side=[steps], framework=FRAMEWORK)
    table = overview(trace, Selection()).tables["mindspore_parts"]
    assert table.frame.filter(pl.col("kind") == "whole")["time_us"].to_list() == [5]
