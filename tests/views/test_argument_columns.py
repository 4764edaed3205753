"""Columns for arguments that no other column models, against sums over plain ``json``."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torch_tb_profiler.analysis.recording.arguments import argument_keys
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.argument_columns import MAX_SHOWN, NO_NUMBER, NO_VALUE
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.range_names import range_names
from torch_tb_profiler.views.timeline.range_summary import range_summary

NAMES = ("Vendor.Metric", "queued", "vendor metric", "odd")


def event(cat: str, name: str, ts: int, tid: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": 4,
            "args": args}  # fmt: skip


def work(name: str, number: int, **args: Any) -> dict[str, Any]:
    return event("kernel", name, 10 * number, 7, device=0, stream=7, correlation=number, **args)


EVENTS = [
    event("cpu_op", "aten::mm", 0, 1, **{"queued": 2}),
    event("cpu_op", "aten::mm", 10, 1, **{"queued": 5}),
    event("cpu_op", "aten::add", 20, 1),
    work("gemm", 1, **{"queued": 1.5, "Vendor.Metric": "fast", "vendor metric": 1}),
    work("gemm", 2, **{"queued": 2.5, "Vendor.Metric": "fast"}),
    work("gemm", 3, **{"queued": "none", "Vendor.Metric": "slow"}),
    work("copy", 4, **{"Vendor.Metric": "slow"}),
    work("other", 5),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": EVENTS}))
    return path


def by_name(cat: str, key: str) -> dict[str, list[Any]]:
    values = defaultdict(list)
    for each in EVENTS:
        if each["cat"] == cat and key in each["args"]:
            values[each["name"]].append(each["args"][key])
    return values


def test_kernels_have_the_numbers_and_texts_of_their_slices(path: Path) -> None:
    with open_trace(path, arguments=NAMES, cache=False) as opened:
        frame = opened.kernels().frame
        rows = {row["name"]: row for row in frame.iter_rows(named=True)}
    assert set(rows) == {"gemm", "copy", "other"}
    for name, row in rows.items():
        numbers = [v for v in by_name("kernel", "queued")[name] if not isinstance(v, str)]
        expected = [f(numbers) for f in (statistics.mean, min, max, sum)] if numbers else [None] * 4
        columns = [f"arg_queued_{key}" for key in ("mean", "min", "max", "sum")]
        assert [row[column] for column in columns] == expected
    assert [rows[name]["arg_queued"] for name in ("gemm", "copy")] == ["none", None]
    texts = [rows[name]["arg_vendor_metric"] for name in ("gemm", "copy", "other")]
    assert texts == ["2 values", "slow", None]
    assert rows["gemm"]["arg_vendor_metric_2_sum"] == 1


def test_columns_serve_filters_and_orders_and_have_reasons(path: Path) -> None:
    with open_trace(path, arguments=NAMES, cache=False) as opened:
        some = opened.kernels(filter="arg_queued_sum>=4;arg_vendor_metric~values")
        assert some.frame["name"].to_list() == ["gemm"]
        by_text = opened.kernels(sort="-arg_vendor_metric").frame["name"].to_list()
        assert by_text == ["copy", "gemm", "other"]
        (table,) = (some.to_dict()["tables"]["kernels"],)
        assert table["null_reasons"].get("arg_queued_mean") in (None, NO_NUMBER)
        reasons = opened.kernels().to_dict()["tables"]["kernels"]["null_reasons"]
    assert (reasons["arg_queued_mean"], reasons["arg_vendor_metric"]) == (NO_NUMBER, NO_VALUE)


def test_operators_have_those_of_their_calls(path: Path) -> None:
    with open_trace(path, arguments=["queued"], cache=False) as opened:
        for group_by in ("name", "name+input_shape", "path"):
            frame = opened.operators(group_by).frame
            rows = frame.filter(kind="operator").select("arg_queued_sum").to_series().to_list()
            assert [value for value in rows if value is not None] in ([7], [2, 5])
            assert None in rows
        launches = opened.kernels("name+operator+launch").frame
        assert launches.filter(name="gemm")["arg_queued_sum"].sum() == 4


def test_only_what_is_selected_counts(path: Path) -> None:
    with open_trace(path, arguments=["queued"], cache=False) as opened:
        frame = opened.kernels(start_us=0, end_us=15).frame
        assert frame.select("name", "arg_queued_sum").rows() == [("gemm", 1.5)]


def test_a_range_of_the_timeline_sums_its_slices(path: Path) -> None:
    with open_trace(path, arguments=["queued"], cache=False) as opened:
        whole = timeline(opened.trace)
        summary = range_summary(whole, 0, 24_000)
        rows = summary.slices.frame.select("name", "arg_queued_mean", "arg_queued_max").rows()
        assert sorted(rows) == [("aten::add", None, None), ("aten::mm", 3.5, 5), ("gemm", 2, 2.5)]
        assert summary.slices.spec.columns[-1].key.startswith("arg_")
        none = range_names(whole, np.empty(0, np.int64), 0, 1).table()[0]
    assert none.frame.is_empty()


def test_without_a_request_there_are_no_such_columns(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        assert not [key for key in opened.kernels().frame.columns if key.startswith("arg_")]
        assert opened.arguments.is_empty()


def test_many_arguments_are_shown_on_request(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(MAX_SHOWN + 2)]
    path = tmp_path / "b.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": [work("k", 1, **dict.fromkeys(names, 1))]}))
    with open_trace(path, arguments=names, cache=False) as opened:
        columns = opened.kernels().to_dict()["tables"]["kernels"]["columns"]
    shown = [each["key"] for each in columns if each["key"].startswith("arg_")
             and not each["hidden"]]  # fmt: skip
    assert len(shown) == MAX_SHOWN


def test_means_of_numbers_that_identify_something_are_hidden(tmp_path: Path) -> None:
    names = ["run_id", "contextId", "hsa handle", "queued", "paid", "width"]
    path = tmp_path / "b.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": [work("k", 1, **dict.fromkeys(names, 1))]}))
    with open_trace(path, arguments=names, cache=False) as opened:
        columns = opened.kernels().to_dict()["tables"]["kernels"]["columns"]
    shown = {each["key"] for each in columns if each["key"].startswith("arg_")
             and not each["hidden"]}  # fmt: skip
    assert shown == {"arg_queued_mean", "arg_paid_mean", "arg_width_mean"}


def test_raw_arguments_stand_with_their_slices(path: Path) -> None:
    with open_trace(path, arguments=NAMES, cache=False) as opened:
        frame, built = opened.arguments, opened.trace
        names = {each.name for each in opened.argument_names() if each.is_read}
    assert isinstance(built, Trace)
    assert names == {"queued", "Vendor.Metric", "vendor metric"}
    rows = frame.select("name", "start_ns", "key", "value", "text").rows()
    expected = [
        (each["name"], 1000 * each["ts"], key, None if isinstance(value, str) else float(value),
         value if isinstance(value, str) else None)
        for each in EVENTS for key, value in each["args"].items() if key in NAMES
    ]  # fmt: skip
    assert sorted(rows, key=str) == sorted(expected, key=str)
    keys = [(key.name, key.numbers, key.texts) for key in argument_keys(built)]
    assert keys == [("queued", 4, 1), ("Vendor.Metric", 0, 4), ("vendor metric", 1, 0)]
