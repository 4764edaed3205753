"""The module view against FX12, a worked example of backward time, brute force over
random trees, and direct sums over the JSON of real traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.modules.view import SPEC, modules


def rows(trace: Trace, **selection: Any) -> dict[str, dict[str, Any]]:
    frame = modules(trace, Selection(**selection)).tables["modules"].frame
    return {row["path"]: row for row in frame.rows(named=True)}


def module(name: str, ts: float, dur: float, number: int, identity: int = 0) -> t.Event:
    return t.frame(f"nn.Module: {name}", ts, dur, python_id=number, module=identity)


def fx12() -> list[t.Event]:
    events: list[t.Event] = []
    for call, addmm in enumerate((31, 32, 33)):
        at = 1000 * call
        events += [
            module("MyModule", at, 211, 10 * call, 0),
            module("Linear", at + 50, 62, 10 * call + 1, 1),
            t.op("aten::addmm", at + 60, addmm),
        ]
    return [*events, module("Conv2", 5000, 211, 90, 100)]


def test_fx12() -> None:
    keys = ("occurrences", "operators", "host_total_us", "host_self_us", "mean_us", "module_id")
    got = {path: tuple(row[key] for key in keys) for path, row in rows(t.trace(fx12())).items()}
    assert got == {
        "MyModule": (3, 0, 633, 447, 211, 0),
        "MyModule/Linear": (3, 3, 186, 90, 62, 1),
        "Conv2": (1, 0, 211, 211, 211, 100),
    }


def test_backward_time_belongs_to_the_module_of_the_forward_operator() -> None:
    """A worked example with a kernel in the backward node."""
    root = "autograd::engine::evaluate_function: "
    numbered: dict[str, Any] = {"Sequence number": 7}
    first_thread: dict[str, Any] = {"Fwd thread id": 1}
    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": t.HOST}
    trace = t.trace(
        [
            t.step(1, 0, 1000),
            module("M", 10, 100, 1, 0),
            module("L", 20, 50, 2, 1),
            t.op("aten::linear", 25, 20, **numbered),
            t.op(root + "AddmmBackward0", 300, 50, tid=2),
            t.op("AddmmBackward0", 305, 40, tid=2, **numbered, **first_thread),
            t.call("cudaLaunchKernel", 310, 5, tid=2, corr=3),
            t.kernel("gemm", 320, 17, corr=3),
            t.op(root + "torch::autograd::AccumulateGrad", 360, 10, tid=2),
            t.op(root + "Unlinked", 380, 10, tid=2),
            t.op(root + "torch::autograd::AccumulateGrad", 400, 10, tid=2),
            {**link, "ph": "s", "tid": 1, "ts": 25},
            {**link, "ph": "f", "tid": 2, "ts": 305},
        ]
    )
    got = rows(trace)
    keys = (
        "backward_host_total_us",
        "backward_host_self_us",
        "backward_device_total_us",
        "backward_device_self_us",
        "device_total_us",
    )
    assert [got["M"][key] for key in keys] == [60, 0, 17, 0, 0]
    assert [got["M/L"][key] for key in keys] == [60, 60, 17, 17, 0]
    (note,) = modules(trace, Selection()).notes
    assert note.evidence == {"nodes": 2, "host_us": 20.0}


def test_without_links_backward_is_null_with_the_reason() -> None:
    view = modules(t.trace(fx12()), Selection())
    table = view.tables["modules"]
    assert table.frame["backward_host_total_us"].null_count() == table.frame.height
    assert "link" in table.null_reasons["backward_host_total_us"]


def test_without_device_work_device_times_are_null_with_the_reason() -> None:
    table = modules(t.trace(fx12()), Selection()).tables["modules"]
    flame = modules(t.trace(fx12()), Selection()).tables["module_flame"]
    assert flame.frame["device_width_us"].null_count() == flame.frame.height
    for key in ("device_total_us", "device_self_us"):
        assert table.frame[key].null_count() == table.frame.height
        assert "no device work" in table.null_reasons[key]


def test_device_time_goes_to_the_innermost_module_and_those_around_it() -> None:
    trace = t.trace(
        [
            module("Net", 0, 100, 1),
            module("Conv", 10, 30, 2, 1),
            t.op("aten::conv2d", 12, 20),
            t.call("cudaLaunchKernel", 14, 2, corr=1),
            t.kernel("conv", 50, 11, corr=1),
            t.kernel("conv", 61, 7, corr=1),
            t.op("aten::add", 50, 10),
            t.call("cudaLaunchKernel", 52, 2, corr=2),
            t.kernel("add", 70, 5, corr=2),
        ]
    )
    keys = ("device_total_us", "device_self_us", "mean_device_us", "host_self_us", "operators")
    got = {path: tuple(row[key] for key in keys) for path, row in rows(trace).items()}
    assert got == {"Net": (23, 5, 23, 60, 1), "Net/Conv": (18, 18, 18, 10, 1)}


def test_equal_names_with_different_ids_stay_apart() -> None:
    events = [
        module("Net", 0, 100, 1),
        module("Linear", 10, 10, 2, 5),
        module("Linear", 30, 20, 3, 6),
        module("Linear", 60, 10, 4, 5),
    ]
    got = {path: row["occurrences"] for path, row in rows(t.trace(events)).items()}
    assert got == {"Net": 1, "Net/Linear#5": 2, "Net/Linear#6": 1}


def test_operators_in_operators_and_user_ranges_count_once() -> None:
    events = [
        module("Net", 0, 100, 1),
        t.annotation("my range", 5, 60),
        t.op("aten::linear", 10, 40),
        t.op("aten::addmm", 20, 20),
    ]
    row = rows(t.trace(events))["Net"]
    assert (row["operators"], row["host_self_us"]) == (1, 60)


def test_a_module_called_inside_an_operator_is_taken_off_once() -> None:
    """A compiled region or custom function may call modules: host self must not go below 0."""
    events = [
        module("Net", 0, 100, 1),
        t.op("CompiledFunction", 5, 90),
        module("Inner", 10, 80, 2, 1),
        t.op("aten::mm", 20, 60),
    ]
    got = rows(t.trace(events))
    assert got["Net"]["host_self_us"] == 10
    assert got["Net/Inner"]["host_self_us"] == 20


def test_a_selection_keeps_the_modules_above() -> None:
    trace = t.trace(fx12())
    got = rows(trace, start_ns=40_000, end_ns=100_000)
    assert {path: row["occurrences"] for path, row in got.items()} == {
        "MyModule": 0,
        "MyModule/Linear": 1,
    }
    assert got["MyModule/Linear"]["host_total_us"] == 62


def test_damage_of_the_recording_is_noted() -> None:
    """Notes on what the numbers of modules depend on, and on nothing else."""
    events = [*fx12(), t.kernel("lost", 100, 5, corr=77)]
    damaged = t.trace(events)
    for issue in ("truncated", "missing_duration", "launch_without_operator"):
        damaged.quality.add(issue)
    codes = {note.code for note in modules(damaged, Selection()).notes}
    assert codes == {"truncated", "missing_duration", "kernel_without_launch"}
    assert modules(t.trace(fx12()), Selection()).notes == ()


def test_the_flame_graph_lays_siblings_side_by_side() -> None:
    bars = modules(t.trace(fx12()), Selection()).tables["module_flame"].frame
    columns = ("path", "depth", "host_left_us", "host_width_us")
    assert bars.select(columns).rows() == [
        ("MyModule", 0, 0, 633),
        ("MyModule/Linear", 1, 0, 186),
        ("Conv2", 0, 633, 211),
    ]


def test_lightning_modules_and_ranges() -> None:
    trace = t.trace(
        [
            t.op("[pl][profile]run_training_batch", 0, 200),
            t.op("[pl][profile]optimizer_step", 10, 100),
            t.op("[pl][module]torch.nn.Sequential: net", 20, 60),
            t.op("[pl][module]torch.nn.Conv2d: net.conv", 30, 40),
            t.op("aten::conv2d", 40, 20),
        ],
        Framework="pytorch-lightning",
    )
    view = modules(trace, Selection())
    columns = ("path", "parent", "occurrences", "operators", "host_total_us", "host_self_us")
    assert view.tables["modules"].frame.select(columns).rows() == [
        ("net", None, 1, 0, 60, 20),
        ("net/net.conv", "net", 1, 1, 40, 20),
    ]
    assert view.tables["lightning_ranges"].frame.select(columns[:3]).rows() == [
        ("run_training_batch", None, 1),
        ("run_training_batch/optimizer_step", "run_training_batch", 1),
    ]


def scripted(name: str, ts: float, dur: float, hierarchy: str, **args: Any) -> t.Event:
    return t.op(name, ts, dur, **{"Module Hierarchy": hierarchy, **args})


def test_scripted_modules_are_told_by_their_operators() -> None:
    """The texts have the form that torch's own test of scripted modules expects."""
    in_a, in_b = (
        "TOP(C)::forward.A0(A)::forward.",
        "TOP(C)::forward.SELF(C)::call_b.B0(B)::forward.",
    )
    backward: dict[str, Any] = {"Sequence number": 3, "Fwd thread id": 1}
    trace = t.trace(
        [
            scripted("aten::sub", 0, 10, in_a, **{"Sequence number": 3}),
            scripted("aten::linear", 20, 30, in_b),
            scripted("aten::addmm", 25, 20, in_b),
            t.call("cudaLaunchKernel", 27, 2, corr=1),
            t.kernel("gemm", 60, 17, corr=1),
            scripted("aten::add", 55, 40, "TOP(C)::forward."),
            scripted("aten::mul", 60, 5, in_a),
            t.op("aten::relu", 100, 5),
            t.op("SubBackward0", 200, 8, tid=2, **backward),
        ]
    )
    assert SPEC.missing(trace) is None
    view = modules(trace, Selection())
    got = {row["path"]: row for row in view.tables["modules"].frame.rows(named=True)}
    keys = ("operators", "host_total_us", "device_total_us", "device_self_us")
    assert {path: tuple(row[key] for key in keys) for path, row in got.items()} == {
        "TOP(C)": (1, 80, 17, 0),
        "TOP(C)/A0(A)": (2, 15, 0, 0),
        "TOP(C)/B0(B)": (1, 30, 17, 17),
    }
    assert got["TOP(C)/A0(A)"]["parent"] == "TOP(C)"
    assert got["TOP(C)/A0(A)"]["backward_host_self_us"] == 8
    assert got["TOP(C)"]["backward_host_total_us"] == 8
    for key in ("occurrences", "host_self_us"):
        assert got["TOP(C)"][key] is None
        assert "TorchScript" in view.tables["modules"].null_reasons[key]
    early = modules(trace, Selection(end_ns=15_000)).tables["modules"].frame
    assert dict(early.select("path", "host_total_us").rows()) == {
        "TOP(C)": 10,
        "TOP(C)/A0(A)": 10,
        "TOP(C)/B0(B)": 0,
    }
    trace.quality.add("truncated")
    assert "truncated" in [note.code for note in modules(trace, Selection()).notes]


def test_a_trace_without_modules_says_why() -> None:
    assert "with_stack" in str(SPEC.missing(t.trace([t.op("aten::a", 0, 1)])))
    assert "nn.Module" in str(SPEC.missing(t.trace([t.frame("a.py(1): f", 0, 9, python_id=1)])))
    assert SPEC.missing(t.trace(fx12())) is None


@st.composite
def module_traces(draw: st.DrawFn) -> list[t.Event]:
    """Modules, functions and operators that nest in any way on one thread."""
    events: list[t.Event] = []

    def fill(begin: int, end: int) -> None:
        at = begin
        while at + 6 <= end and draw(st.booleans()):
            length = draw(st.integers(5, end - at))
            kind = draw(st.sampled_from(["module", "function", "op"]))
            if kind == "module":
                name, identity = draw(st.sampled_from([("A", 0), ("A", 1), ("B", 0)]))
                events.append(module(name, at, length, len(events), identity))
            elif kind == "function":
                events.append(t.frame("a.py(1): f", at, length, python_id=len(events)))
            else:
                events.append(t.op(f"aten::{len(events)}", at, length))
            fill(at + 1, at + length - 1)
            at += length + 1

    fill(0, 150)
    return events


def inside(inner: t.Event, outer: t.Event) -> bool:
    end = outer["ts"] + outer["dur"]
    return bool(outer["ts"] < inner["ts"] and inner["ts"] + inner["dur"] < end)


@given(module_traces())
@examples(80)
def test_totals_equal_counting_event_by_event(events: list[t.Event]) -> None:
    calls = [e for e in events if "Python module id" in e["args"]]
    operators = [e for e in events if e["cat"] == "cpu_op"]

    def module_of(event: t.Event) -> t.Event | None:
        around = [c for c in calls if inside(event, c)]
        return max(around, key=lambda c: c["ts"]) if around else None

    expected: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for call in calls:
        line = [(call["name"][11:], call["args"]["Python module id"])]
        above = module_of(call)
        while above is not None:
            line.insert(0, (above["name"][11:], above["args"]["Python module id"]))
            above = module_of(above)
        covered = set()
        for other in [*operators, *calls]:
            if module_of(other) is call:
                covered |= set(range(other["ts"], other["ts"] + other["dur"]))
        own = [o for o in operators if module_of(o) is call]
        direct = [o for o in own if not any(inside(o, p) for p in own)]
        sums = expected.setdefault(tuple(line), [0, 0, 0, 0])
        for place, value in enumerate((1, len(direct), call["dur"], call["dur"] - len(covered))):
            sums[place] += value
    found = rows(t.trace(events))
    keys = ("occurrences", "operators", "host_total_us", "host_self_us")
    got: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for row in found.values():
        line, at = [(row["name"], row["module_id"])], row
        while at["parent"] is not None:
            at = found[at["parent"]]
            line.insert(0, (at["name"], at["module_id"]))
        got[tuple(line)] = [row[key] for key in keys]
    assert got == expected


def test_a_real_trace_agrees_with_sums_over_the_raw_json(samples: Path) -> None:
    (path,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    calls = [e for e in events if "Python module id" in e.get("args", {})]
    trace = t.trace(events)
    found = rows(trace)
    names = {row["name"] for row in found.values()}
    assert names == {e["name"].removeprefix("nn.Module: ") for e in calls}
    for name in names:
        mine = [e for e in calls if e["name"] == f"nn.Module: {name}"]
        of_name = [row for row in found.values() if row["name"] == name]
        assert sum(row["occurrences"] for row in of_name) == len(mine)
        assert sum(row["host_total_us"] for row in of_name) == pytest.approx(
            sum(e["dur"] for e in mine), abs=0.001 * len(mine)
        )
    assert all(row["host_self_us"] >= 0 for row in found.values())
    linear = next(row for row in found.values() if row["name"] == "Linear_0")
    addmm = sum(
        e["dur"]
        for e in events
        if e["name"] == "autograd::engine::evaluate_function: AddmmBackward0"
    )
    assert linear["backward_host_self_us"] >= addmm
