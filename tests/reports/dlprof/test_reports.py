"""The reports of DLProf against a walk over the events of a small recording."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import polars as pl
import pytest

from tests.helpers.traces import call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.reports.dlprof.registry import NEEDS, REPORTS
from torch_tb_profiler.reports.dlprof.table import Report, ReportTable, Views
from torch_tb_profiler.reports.dlprof.writing import csv_of, json_of
from torch_tb_profiler.views.schema import View

GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
US = 1000


def _events(steps: int) -> list[dict[str, Any]]:
    """From 7 µs on, per step of 100 µs: ``aten::mm`` of 30 µs with a call of 5 µs and a kernel of
    20 µs; then ``aten::copy_`` of 10 µs with a call of 4 µs and a copy of 6 µs."""
    events: list[dict[str, Any]] = []
    for n in range(steps):
        at, ids = n * 100 + 7, (10 * n + 1, 10 * n + 2)
        events += [
            step(n, at, 100),
            op("aten::mm", at + 10, 30, ext=ids[0]),
            call("cudaLaunchKernel", at + 15, 5, corr=ids[0], ext=ids[0]),
            kernel(GEMM, at + 30, 20 + n, corr=ids[0], ext=ids[0]),
            op("aten::copy_", at + 50, 10, ext=ids[1]),
            call("cudaMemcpyAsync", at + 52, 4, corr=ids[1], ext=ids[1]),
            memcpy(at + 60, 6, corr=ids[1], ext=ids[1]),
        ]
    return events


@pytest.fixture(scope="module")
def views() -> Views:
    return _views(_events(3))


def _views(events: list[dict[str, Any]]) -> Views:
    recorded = trace(events)

    def made(name: str) -> View:
        selection = Selection(group_by=NEEDS[name].group_by)
        return trace_view(view_spec(NEEDS[name].view or name), recorded, selection)

    return {name: made(name) for name in NEEDS if name != "groups"}


def rows(report: Report) -> list[dict[str, Any]]:
    (table,) = report.tables
    return table.frame.to_dicts()


def test_detail(views: Views) -> None:
    mm, copy = rows(REPORTS["detail"].make(views))
    assert mm["Op Name"].endswith("aten::mm")
    assert (mm["Op Type"], mm["No. Calls"]) == ("matrix_product", 3)
    assert (mm["TC Eligibility"], mm["Using TC"]) == ("yes", "yes")
    times = [mm[f"{word} GPU Time (ns)"] for word in ("Total", "Avg.", "Min", "Max")]
    assert times == [63 * US, 21 * US, 20 * US, 22 * US]
    assert mm["Total CPU Time (ns)"] == 90 * US
    assert mm["Total CPU Overhead Time (ns)"] == 75 * US
    assert mm["Total GPU Idle Time (ns)"] == 0
    assert (copy["Op Type"], copy["TC Eligibility"], copy["Using TC"]) == ("copy", "no", "no")
    assert copy["Total GPU Time (ns)"] == 18 * US


def test_iteration_and_kernel_hold_every_kernel_call(views: Views) -> None:
    calls = rows(REPORTS["iteration"].make(views))
    assert all(call["Kernel Name"] for call in calls)
    told = [
        (r["Iteration"], r["GPU Time (ns)"], r["API Call Time (ns)"], r["Uses TC"]) for r in calls
    ]
    assert told == [
        (n, time * US, api * US, uses)
        for n in range(3)
        for time, api, uses in ((20 + n, 5, "yes"), (6, 4, "no"))
    ]
    assert [r["API Call Start (ns)"] // US % 100 for r in calls] == [15, 52] * 3
    starts = [(r["GPU Start Time (ns)"], r["Absolute GPU Start Time (ns)"]) for r in calls]
    assert starts == [
        ((at - 7) * US, at * US) for n in range(3) for at in (n * 100 + 37, n * 100 + 67)
    ]
    assert {r["Grid X"] for r in calls if r["Uses TC"] == "no"} == {None}
    gemm, copy = rows(REPORTS["kernel"].make(views))
    assert (gemm["Kernel Name"], gemm["Total GPU Time (ns)"]) == (GEMM, 63 * US)
    assert (copy["Max API Time (ns)"], copy["Total API Time (ns)"]) == (4 * US, 12 * US)
    detail = rows(REPORTS["detail"].make(views))
    assert {r["Op ID"]: r["Op Name"] for r in calls} == {r["Op ID"]: r["Op Name"] for r in detail}


def test_tensor_counts_distinct_kernels(views: Views) -> None:
    (mm,) = rows(REPORTS["tensor"].make(views))
    assert (mm["Total Kernel Count"], mm["TC Kernel Count"], mm["TC Kernel Names"]) == (1, 1, GEMM)
    assert (mm["TC GPU Time (ns)"], mm["Non-TC GPU Time (ns)"]) == (63 * US, 0)
    assert mm["TC Utilization (%)"] == 100


def test_tensor_holds_what_is_called_inside_as_detail_does() -> None:
    """``aten::linear`` around ``aten::mm`` launches a second kernel itself."""
    events = [
        *(op("aten::linear", n * 100 + 8, 41) for n in range(2)),
        *(call("cudaLaunchKernel", n * 100 + 48, 1, corr=90 + n) for n in range(2)),
        *(kernel("bias", n * 100 + 76, 4, corr=90 + n) for n in range(2)),
    ]
    views = _views(_events(2) + events)
    detail = {r["Op ID"]: r for r in rows(REPORTS["detail"].make(views))}
    by_type = {r["Op Name"].rpartition("::")[2]: r for r in rows(REPORTS["tensor"].make(views))}
    keys = ("Total GPU Time (ns)", "Total Kernel Count", "TC Kernel Names", "Non-TC Kernel Count")
    assert [by_type["mm"][key] for key in keys] == [41 * US, 1, GEMM, 0]
    assert [by_type["linear"][key] for key in keys[:3]] == [49 * US, 2, GEMM]
    for row in by_type.values():
        assert row["Total GPU Time (ns)"] == detail[row["Op ID"]]["Total GPU Time (ns)"]


def test_an_operator_uses_tensor_cores_or_not_in_all_reports() -> None:
    """Around ``aten::mm`` is ``aten::linear``, which launches nothing itself; then most of the time
    is in a kernel that no rule knows."""
    around = [op("aten::linear", n * 100 + 8, 41) for n in range(3)]
    unknown = [
        event
        for n in range(3)
        for event in (
            call("cudaLaunchKernel", n * 100 + 29, 5, corr=90 + n, ext=10 * n + 1),
            kernel("some_kernel", n * 100 + 77, 23, corr=90 + n, ext=10 * n + 1),
        )
    ]
    for events in (around, around + unknown):
        views = _views(_events(3) + events)
        detail = {r["Op ID"]: r["Using TC"] for r in rows(REPORTS["detail"].make(views))}
        tensor = {r["Op ID"]: r["Uses TC"] for r in rows(REPORTS["tensor"].make(views))}
        assert list(tensor.values()) == ["yes", "yes"]
        assert {each: detail[each] for each in tensor} == tensor


def test_op_type_and_summary_add_up(views: Views) -> None:
    types = {r["Op Name"]: r for r in rows(REPORTS["op_type"].make(views))}
    assert types["matrix_product"]["Total GPU Time (ns)"] == 63 * US
    assert types["copy"]["No. Calls"] == 3
    for row in types.values():
        for time in ("CPU Time", "GPU Time"):
            mean, total = row[f"Avg. {time} (ns)"], row[f"Total {time} (ns)"]
            if mean is not None:
                assert mean * row["No. Calls"] == pytest.approx(total, abs=row["No. Calls"])
    summary = {table.title: table.frame for table in REPORTS["summary"].make(views).tables}
    for title in ("Operators", "Kernels"):
        whole, *parts = summary[title]["GPU Time (ns)"].to_list()
        assert whole == sum(parts) == 81 * US
    figures = dict(summary["Performance"].iter_rows())
    shares = [float(figures[name]) for name in figures if name.endswith("Duration (%)")]
    assert sum(shares) == pytest.approx(100)
    assert dict(summary["Iterations"].iter_rows())["Total Iterations"] == "3"


def test_the_summary_names_the_system() -> None:
    recorded = trace(
        _events(1), schemaVersion=1, cuda_driver_version=12040, cuda_runtime_version=12010
    )
    view = trace_view(view_spec("overview"), recorded, Selection())
    summary = {
        table.title: table.frame for table in REPORTS["summary"].make({"overview": view}).tables
    }
    system = dict(summary["System"].iter_rows())
    named = [system[name] for name in ("GPU Driver Version", "CUDA Version", "Profiler Version")]
    assert named == ["12.4", "12.1", "torch.profiler, schema 1"]


def test_work_outside_every_operator_has_a_name() -> None:
    recorded = trace(
        [
            step(0, 0, 100),
            call("cudaLaunchKernel", 10, 5, corr=1),
            kernel("lone", 20, 9, corr=1),
            op("aten::view", 50, 5),
        ]
    )
    named = {}
    for name in ("operators", "iterations", "iteration_operators"):
        selection = Selection(group_by=NEEDS[name].group_by)
        named[name] = trace_view(view_spec(NEEDS[name].view or name), recorded, selection)
    row = next(row for row in rows(REPORTS["detail"].make(named)) if row["Total GPU Time (ns)"])
    assert row["Op Name"] == row["Op Type"] == "unassociated_cudaLaunchKernel"
    assert row["Total GPU Time (ns)"] == 9 * US
    (launch,) = rows(REPORTS["iteration"].make(named))
    assert launch["Op Name"] == launch["Op ID"] == row["Op ID"] == "unassociated_cudaLaunchKernel"


def test_work_whose_launch_is_not_recorded_is_an_operator_per_name() -> None:
    events = [
        step(1, 0, 100),
        call("cudaMemcpyAsync", 10, 4, corr=1),
        memcpy(20, 6, corr=1),
        call("cudaMemcpyAsync", 30, 8, corr=2),
        memcpy(40, 2, corr=2),
        kernel(GEMM, 50, 10),
        kernel(GEMM, 70, 20),
        kernel("other", 92, 1),
        op("aten::view", 95, 2),
    ]
    recorded = trace(events)
    views = {
        name: trace_view(view_spec(NEEDS[name].view or name), recorded, Selection(group_by=how))
        for name, how in (
            ("operators", "path"),
            ("iterations", None),
            ("iteration_operators", None),
        )
    }
    reported = rows(REPORTS["detail"].make(views))
    reported = [row for row in reported if row["Op ID"].startswith("unassociated_")]
    names = ("No. Calls", "Using TC", "Total CPU Time (ns)", "Max CPU Time (ns)")
    times = ("Total GPU Time (ns)", "Avg. GPU Time (ns)", "Min GPU Time (ns)")
    assert {row["Op ID"]: tuple(row[key] for key in (*names, *times)) for row in reported} == {
        "unassociated_cudaMemcpyAsync": (2, "no", 12 * US, 8 * US, 8 * US, 4 * US, 2 * US),
        f"unassociated_{GEMM}": (2, "yes", None, None, 30 * US, 15 * US, 10 * US),
        "unassociated_other": (1, None, None, None, 1 * US, 1 * US, 1 * US),
    }
    calls = rows(REPORTS["iteration"].make(views))
    assert {row["Op ID"] for row in calls} == {row["Op ID"] for row in reported}


def test_detail_has_directions_as_dlprof_says_them_and_the_inputs_of_the_first_call() -> None:
    where: dict[str, Any] = {"Sequence number": 3, "Fwd thread id": 0}
    recorded = trace(
        [
            step(0, 0, 100),
            op("aten::relu", 10, 10, shape=[[4, 8]], stack="model.py(7): forward", **where),
            op("ReluBackward0", 50, 20, **where | {"Fwd thread id": 1}),
        ]
    )
    named = {
        name: trace_view(
            view_spec(NEEDS[name].view or name),
            recorded,
            Selection(group_by=NEEDS[name].group_by),
        )
        for name in REPORTS["detail"].views
    }
    found = {row["Direction"]: row for row in rows(REPORTS["detail"].make(named))}
    forward, backward = found["fprop"], found["bprop"]
    assert (forward["Input Shapes"], forward["Stack Trace"]) == ("[[4, 8]]", "model.py(7): forward")
    assert backward["Input Shapes"] is None


def test_text_of_a_trace_is_no_formula_and_several_tables_stand_apart() -> None:
    frame = pl.DataFrame({"Op Name": ["=1+1"], "Time (ns)": [5]})
    report = Report("detail", (ReportTable("A", frame), ReportTable("B", frame)))
    lines = list(csv.reader(io.StringIO(csv_of(report).decode())))
    assert lines == [["A"], ["Op Name", "Time (ns)"], ["'=1+1", "5"], [], ["B"], *lines[1:3]]
    assert json.loads(json_of(report))["detail"]["B"] == [{"Op Name": "=1+1", "Time (ns)": 5}]
    alone = Report("detail", (ReportTable(None, frame),))
    assert json.loads(json_of(alone)) == {"detail": [{"Op Name": "=1+1", "Time (ns)": 5}]}
