"""What explains a difference: exact sums, calls apart from time per call, drill-down, against what
is counted by hand from the events."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.explained import MOST_PARTS
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View

ALL = Selection()
Kernels = dict[str, list[int]]


def step_of(operators: dict[str, Kernels], *, steps: int = 2, load: int = 10) -> Trace:
    """Steps of 10 ms: loading, then a call per kernel of each operator."""
    events: list[t.Event] = []
    corr = 0
    for number in range(steps):
        at = 20_000 * number
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        events += [t.step(number, at, 10_000), t.annotation(loader, at + 1, load)]
        time = at + 1000
        for name, kernels in operators.items():
            for kernel, durations in kernels.items():
                for duration in durations:
                    corr += 1
                    events += [
                        t.op(name, time, 8),
                        t.call("cudaLaunchKernel", time + 2, 3, corr=corr),
                        t.kernel(kernel, time + 10, duration, corr=corr),
                    ]
                    time += 10 + duration
    return t.trace(events)


def rows(view: View, table: str) -> list[dict[str, Any]]:
    return list(view.tables[table].frame.rows(named=True))


def named(view: View, table: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows(view, table)}


def fact(view: View, key: str) -> Any:
    return next(each.value for each in view.facts if each.key == key)


BASE = {"aten::mm": {"gemm": [100, 100]}, "aten::relu": {"clamp": [10]}}


def test_calls_apart_from_time_per_call() -> None:
    """mm: 2 × 100 → 3 × 120; relu behind it is gone, gelu before it is new: 200 + 10 → 360 + 40
    per step."""
    other = {"aten::gelu": {"gelu": [40]}, "aten::mm": {"gemm": [120] * 3}}
    view = compare(step_of(BASE), ALL, step_of(other), ALL)
    assert fact(view, "explained_by") == "device time"
    assert fact(view, "delta_explained_us") == 190
    mm, gelu, relu = rows(view, "explained")
    assert [row["name"] for row in (mm, gelu, relu)] == ["aten::mm", "aten::gelu", "aten::relu"]
    assert (mm["baseline_time_us"], mm["candidate_time_us"], mm["delta_time_us"]) == (200, 360, 160)
    assert (mm["baseline_calls"], mm["candidate_calls"]) == (2, 3)
    assert (mm["delta_of_calls_us"], mm["delta_of_time_per_call_us"]) == (100, 60)
    assert mm["share_of_delta_pct"] == pytest.approx(100 * 160 / 190)
    assert (mm["change"], gelu["change"], relu["change"]) == (None, "new", "gone")
    assert (gelu["delta_of_calls_us"], gelu["delta_of_time_per_call_us"]) == (40, 0)
    assert (relu["delta_of_calls_us"], relu["delta_of_time_per_call_us"]) == (-10, 0)
    assert relu["share_of_delta_pct"] == pytest.approx(-100 * 10 / 190)


def test_the_tree_leads_from_the_step_to_kernels() -> None:
    other = {**BASE, "aten::mm": {"cutlass": [150, 150]}}
    view = compare(step_of(BASE), ALL, step_of(other), ALL)
    tree = {row["id"]: row for row in rows(view, "drill_down")}

    def place(row: dict[str, Any]) -> list[tuple[str, str]]:
        above = [] if row["parent"] is None else place(tree[row["parent"]])
        return [*above, (row["kind"], row["name"])]

    (pair,) = [row for row in tree.values() if row["paired_with"] == "cutlass"]
    assert place(pair) == [
        ("step", "Device time of a step"),
        ("phase", "Outside of phases"),
        ("operator", "aten::mm"),
        ("kernel", "gemm"),
    ]
    assert (pair["change"], pair["candidate_calls"], pair["candidate_mean_us"]) == (None, 2, 150)
    assert pair["short_name"] == "gemm"
    mm = named(view, "drill_down")["aten::mm"]
    assert (mm["delta_of_calls_us"], mm["delta_of_time_per_call_us"]) == (0, 100)
    assert (mm["baseline_calls"], mm["baseline_mean_us"]) == (2, 100)


def test_steps_are_counted_one_by_one() -> None:
    """Totals of 4 and 2 steps differ; what explains the difference is of one step."""
    view = compare(step_of(BASE, steps=4), ALL, step_of(BASE, steps=2), ALL)
    assert fact(view, "delta_explained_us") == 0
    assert {row["delta_time_us"] for row in rows(view, "explained")} == {0}
    assert view.tables["explained"].null_reasons["share_of_delta_pct"]
    assert {row["share_of_delta_pct"] for row in rows(view, "drill_down")} == {None}


def test_loading_is_explained_by_time_of_the_host() -> None:
    """Kernels are what they were; another loader is the same phase and the same range."""
    view = compare(step_of(BASE), ALL, step_of(BASE, load=500), ALL)
    assert fact(view, "explained_by") == "host time"
    assert rows(view, "drill_down")[0]["name"] == "Host time of a step"
    first = rows(view, "explained")[0]
    assert (first["name"], first["kind"], first["phase"]) == ("DataLoader", "range", "DataLoader")
    assert (first["delta_time_us"], first["share_of_delta_pct"]) == (490, 100)
    assert (first["delta_of_calls_us"], first["delta_of_time_per_call_us"]) == (0, 490)
    phases = {row["phase"]: row["share_of_delta_pct"] for row in rows(view, "phases")}
    assert phases == {"DataLoader": 100}


def test_categories_of_the_step_share_its_change() -> None:
    view = compare(step_of(BASE), ALL, step_of(BASE, load=500), ALL)
    shares = {r["category"]: r["share_of_delta_pct"] for r in rows(view, "average_step")}
    assert shares["Total"] is None, "the step is as long as before"
    assert view.tables["average_step"].null_reasons["share_of_delta_pct"]


kernels = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.integers(1, 500), min_size=1, max_size=4),
    min_size=1,
)
programs = st.dictionaries(st.sampled_from(["aten::x", "aten::y"]), kernels, min_size=1)


@examples(20)
@given(baseline=programs, candidate=programs)
def test_parts_add_up(baseline: dict[str, Kernels], candidate: dict[str, Kernels]) -> None:
    view = compare(step_of(baseline), ALL, step_of(candidate), ALL)
    if fact(view, "explained_by") != "device time":
        return
    whole = [sum(sum(d) for k in p.values() for d in k.values()) for p in (baseline, candidate)]
    delta = whole[1] - whole[0]
    assert fact(view, "delta_explained_us") == pytest.approx(delta)
    inside: defaultdict[str | None, list[dict[str, Any]]] = defaultdict(list)
    tree = rows(view, "drill_down")
    for row in tree:
        inside[row["parent"]].append(row)
        if row["delta_of_calls_us"] is not None:
            parts = row["delta_of_calls_us"] + row["delta_of_time_per_call_us"]
            assert parts == pytest.approx(row["delta_time_us"], abs=1e-5)
    for row in tree:
        if row["id"] in inside:
            for key in ("baseline_time_us", "candidate_time_us", "delta_time_us"):
                total = sum(child[key] for child in inside[row["id"]])
                assert total == pytest.approx(row[key], abs=1e-5), (row["name"], key)
    flat = rows(view, "explained")
    assert sum(row["delta_time_us"] for row in flat) == pytest.approx(delta, abs=1e-5)
    if delta:
        assert sum(row["share_of_delta_pct"] for row in flat) == pytest.approx(100)
    changes = [abs(row["delta_time_us"]) for row in flat]
    assert changes == sorted(changes, reverse=True)


def test_many_parts_are_summed_in_one_row() -> None:
    many = {f"aten::op{n}": {f"k{n}": [10 + n]} for n in range(MOST_PARTS + 5)}
    view = compare(step_of(many), ALL, step_of(BASE), ALL)
    (others,) = [row for row in rows(view, "drill_down") if row["kind"] == "others"]
    assert others["name"] == "7 others"
    phase = next(row for row in rows(view, "drill_down") if row["kind"] == "phase")
    children = [row for row in rows(view, "drill_down") if row["parent"] == phase["id"]]
    assert len(children) == MOST_PARTS + 1
    total = sum(row["delta_time_us"] for row in children)
    assert total == pytest.approx(phase["delta_time_us"])


def test_work_outside_of_operators_is_of_the_call_that_launched_it() -> None:
    def graph(duration: int) -> Trace:
        events = [t.step(0, 0, 5000), t.call("cudaGraphLaunch", 10, 5, corr=7)]
        events += [t.kernel("k", 100 + 200 * n, duration, corr=7) for n in range(3)]
        return t.trace(events)

    (row,) = rows(compare(graph(50), ALL, graph(80), ALL), "explained")
    assert (row["name"], row["kind"]) == ("cudaGraphLaunch", "launch")
    assert (row["baseline_calls"], row["delta_time_us"]) == (1, 90)


def test_phases_of_a_training_are_told_without_modules(samples: Path) -> None:
    """What a backward node belongs to is forward; all device time is in some phase."""
    (path,) = (samples / "kineto_resnet50_nw0").glob("*6756*.json.gz")
    with open_trace(path, cache=False) as opened:
        trace = opened.trace
    view = compare(trace, ALL, trace, Selection(steps="17:19"))
    phases = {row["name"]: row for row in rows(view, "drill_down") if row["kind"] == "phase"}
    assert {"Forward", "Backward", "Optimizer.step", "Optimizer.zero_grad"} <= set(phases)
    whole = rows(view, "drill_down")[0]
    outside = phases["Outside of phases"]["baseline_time_us"]
    assert outside < 0.1 * whole["baseline_time_us"]


def test_modules_lead_to_operators_where_both_sides_tell_them(samples: Path) -> None:
    (path,) = (samples / "h100_bert_small").glob("*.json.gz")
    with open_trace(path, cache=False) as opened:
        view = compare(opened.trace, ALL, opened.trace, ALL)
    tree = {row["id"]: row for row in rows(view, "drill_down")}
    kinds = {(tree[r["parent"]]["kind"], r["kind"]) for r in tree.values() if r["parent"]}
    assert kinds >= {("phase", "module"), ("module", "operator"), ("operator", "kernel")}
    paths = {row["path"] for row in rows(view, "modules")}
    assert {row["name"] for row in tree.values() if row["kind"] == "module"} <= paths
