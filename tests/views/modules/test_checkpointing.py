"""Modules under activation checkpointing, against brute force over recorded events.

The recordings are of a CPU (``samples/record/checkpointing.py``): two steps of a net with two
checkpointed layers, reentrant and not. Device work is added to them: a launch and a kernel in each
operator that holds no other. With the backward pass moved to a thread of its own they are what a
GPU records.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.operators.modules.sums import NO_FRAMES_AGAIN, NOTHING_AGAIN
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.modules.view import OUTSIDE, modules

DATA = Path(__file__).parents[2] / "data" / "checkpointing"
EVALUATES = "autograd::engine::evaluate_function: "
Sums = dict[str, dict[str, float]]


def recorded(name: str, *, own_thread: bool) -> list[t.Event]:
    """The events, with device work; the backward pass on thread 2 if wanted."""
    with gzip.open(DATA / f"{name}.json.gz") as file:
        events: list[t.Event] = json.load(file)["traceEvents"]
    nodes = [e for e in events if e["name"].startswith(EVALUATES)]
    outermost = [e for e in nodes if not any(inside(e, node) for node in nodes)]
    if own_thread:
        moved = [e for e in events if e in outermost or any(inside(e, n) for n in outermost)]
        # Nodes of what ran again there have that thread as the one of their forward operator.
        of_moved = [e for e in moved if e["args"].get("Fwd thread id") and is_nested(e, nodes)]
        for event in moved:
            event["tid"] = 2
        for event in of_moved:
            event["args"]["Fwd thread id"] = 2
    operators = [e for e in events if e["cat"] == "cpu_op"]
    numbers = count(1)
    for operator in operators:
        if not any(inside(other, operator) for other in operators):
            number = next(numbers)
            ts, dur = operator["ts"], operator["dur"]
            events.append(t.call("cudaLaunchKernel", ts, dur / 2, corr=number, tid=operator["tid"]))
            events[-1]["pid"] = operator["pid"]
            events.append(t.kernel("k", ts + dur, 0.001 * (7 + number % 90), corr=number))
    return events


def inside(event: t.Event, around: t.Event) -> bool:
    """Whether one event of a thread lies in another one."""
    if event is around or event["tid"] != around["tid"]:
        return False
    first, last = event["ts"], event["ts"] + event["dur"]
    return bool(around["ts"] <= first and last <= around["ts"] + around["dur"])


def is_nested(event: t.Event, nodes: list[t.Event]) -> bool:
    """Whether a backward node, or the operator in one, lies in a further one."""
    own = event["name"].removeprefix(EVALUATES)
    return any(inside(event, node) for node in nodes if not node["name"].endswith(own))


def innermost(event: t.Event, candidates: list[t.Event]) -> t.Event | None:
    around = [each for each in candidates if inside(event, each)]
    return max(around, key=lambda each: (each["ts"], -each["dur"])) if around else None


def expected_device_self(events: list[t.Event]) -> Sums:
    """Per module and part (forward, recompute, backward) the time of the kernels, looking for each
    launch at the module call and the backward node around it, and which lies in the other. The row
    of what is of no module has it all in the column of forward."""
    calls = [e for e in events if "Python module id" in e["args"]]
    nodes = [e for e in events if e["name"].startswith(EVALUATES)]
    operators = [e for e in events if e["cat"] == "cpu_op"]
    duration = {e["args"]["correlation"]: e["dur"] for e in events if e["cat"] == "kernel"}
    sums: Sums = defaultdict(lambda: defaultdict(float))
    last_module: dict[int, str | None] = {}
    module_of_node: dict[int, str | None] = {}
    for node in sorted(nodes, key=lambda e: e["ts"]):
        module_of_node[id(node)] = last_module[node["tid"]] = module_of_backward(
            node, nodes, operators, calls, last_module.get(node["tid"])
        )
    for launch in (e for e in events if e["name"] == "cudaLaunchKernel"):
        call, around = innermost(launch, calls), innermost(launch, nodes)
        part = "forward"
        name: str | None = None if call is None else call["name"]
        if around is not None and (call is None or not inside(call, around)):
            part, name = "backward", module_of_node[id(around)]
        elif call is not None and any(inside(call, each) for each in nodes):
            part = "recompute"
        label = OUTSIDE if name is None else name.removeprefix("nn.Module: ")
        part = "forward" if name is None else part
        sums[label][part] += duration[launch["args"]["correlation"]]
    return sums


def module_of_backward(
    node: t.Event,
    nodes: list[t.Event],
    operators: list[t.Event],
    calls: list[t.Event],
    before: str | None,
) -> str | None:
    if "AccumulateGrad" in node["name"]:
        return before
    (linked, *_) = [e for e in operators if inside(e, node) and "Fwd thread id" in e["args"]]
    number, thread = (linked["args"][key] for key in ("Sequence number", "Fwd thread id"))
    home = min(thread, max(e["tid"] for e in operators))
    forward = max(
        (
            e
            for e in operators
            if e["args"].get("Sequence number") == number
            and not e["args"].get("Fwd thread id")
            and e["tid"] == home
            and e["ts"] < node["ts"]
        ),
        key=lambda e: e["ts"],
    )
    if forward["name"] == "CheckpointFunction":
        made = [call for call in calls if inside(call, forward)]
        return str(max(made, key=lambda e: e["dur"])["name"])
    call = innermost(forward, calls)
    return None if call is None else str(call["name"])


KEYS = {
    "forward": "device_self_us",
    "recompute": "recompute_device_self_us",
    "backward": "backward_device_self_us",
}


@pytest.mark.parametrize("own_thread", [False, True])
@pytest.mark.parametrize("name", ["reentrant", "nonreentrant"])
def test_device_time_equals_counting_launch_by_launch(name: str, own_thread: bool) -> None:
    events = recorded(name, own_thread=own_thread)
    expected = expected_device_self(events)
    view = modules(t.trace(events), Selection())
    frame = view.tables["modules"].frame
    got: Sums = defaultdict(dict)
    for row in frame.rows(named=True):
        assert row["name"] not in got, "what ran again has the row of its forward call"
        got[row["name"]] = {part: row[key] for part, key in KEYS.items() if row[key]}
    assert {each: parts for each, parts in got.items() if parts} == {
        each: pytest.approx(dict(parts)) for each, parts in expected.items()
    }
    whole = sum(sum(parts.values()) for parts in expected.values())
    assert whole == pytest.approx(sum(e["dur"] for e in events if e["cat"] == "kernel"))
    (fact,) = view.facts
    outside = expected[OUTSIDE]["forward"]
    assert fact.value == pytest.approx(100 * (1 - outside / whole))
    frame = frame.filter(frame["kind"] == "module")
    again = {row["name"]: row["recomputations"] for row in frame.rows(named=True)}
    layers = {each: 2 for each in again if each.startswith(("Layer", "ReLU"))}
    assert {each: again[each] for each in layers} == layers
    assert (again["Net_0"], again["Linear_0"], again["Linear_1"]) == (0, 0, 2)
    assert frame["occurrences"].to_list() == [2] * frame.height


@pytest.mark.parametrize("own_thread", [False, True])
@pytest.mark.parametrize("name", ["reentrant", "nonreentrant"])
def test_no_moment_of_the_backward_pass_counts_twice(name: str, own_thread: bool) -> None:
    """Host times of backward and of what ran again add up to the outermost backward nodes."""
    events = recorded(name, own_thread=own_thread)
    nodes = [e for e in events if e["name"].startswith(EVALUATES)]
    whole = sum(e["dur"] for e in nodes if not is_nested(e, nodes))
    view = modules(t.trace(events), Selection())
    (net,) = view.tables["modules"].frame.filter(name="Net_0").rows(named=True)
    (note,) = (note for note in view.notes if note.code == "backward_without_module")
    parts = net["backward_host_total_us"] + net["recompute_host_total_us"]
    assert parts + note.evidence["host_us"] == pytest.approx(whole)


def of_modules(trace: Trace, selection: Selection) -> pl.DataFrame:
    frame = modules(trace, selection).tables["modules"].frame.sort("path")
    return frame.filter(frame["kind"] == "module")


def test_what_ran_again_is_selected_with_the_call_it_repeats() -> None:
    events = recorded("nonreentrant", own_thread=True)
    nets = sorted(e["ts"] for e in events if e["name"] == "nn.Module: Net_0")
    trace = t.trace(events)
    middle = round(1000 * nets[1])
    halves = [
        of_modules(trace, selection)
        for selection in (Selection(end_ns=middle), Selection(start_ns=middle))
    ]
    whole = of_modules(trace, Selection())
    for half in halves:
        assert half["path"].to_list() == whole["path"].to_list()
        assert half["recomputations"].to_list() == (whole["recomputations"] // 2).to_list()
    for key in KEYS.values():
        total = halves[0][key] + halves[1][key]
        assert total.to_list() == pytest.approx(whole[key].to_list())


def test_without_frames_on_the_backward_thread_the_module_is_not_known() -> None:
    events = recorded("nonreentrant", own_thread=True)
    kept = [e for e in events if e["tid"] != 2 or e["cat"] != "python_function"]
    table = modules(t.trace(kept), Selection()).tables["modules"]
    for key in ("recomputations", *KEYS.values()):
        if key.startswith("recomp"):
            assert table.frame[key].null_count() == table.frame.height
            assert table.null_reasons[key] == NO_FRAMES_AGAIN


def test_reentrant_checkpoints_without_frames_belong_to_the_checkpointed_module() -> None:
    """Everything a checkpoint does in the backward pass is of the one module it called."""
    events = recorded("reentrant", own_thread=True)
    kept = [e for e in events if e["tid"] != 2 or e["cat"] != "python_function"]
    checkpoints = [e for e in kept if e["name"] == f"{EVALUATES}CheckpointFunctionBackward"]
    duration = {e["args"]["correlation"]: e["dur"] for e in kept if e["cat"] == "kernel"}
    launches = [e for e in kept if e["name"] == "cudaLaunchKernel"]
    expected = sum(
        duration[e["args"]["correlation"]]
        for e in launches
        if any(inside(e, node) for node in checkpoints)
    )
    frame = modules(t.trace(kept), Selection()).tables["modules"].frame
    got = {row["name"]: row["backward_device_total_us"] for row in frame.rows(named=True)}
    assert got["Layer_0"] + got["Layer_1"] == pytest.approx(expected)


def test_a_pass_that_repeats_nothing_says_so() -> None:
    linked: Any = {"Sequence number": 1}
    events = [
        t.frame("nn.Module: Net", 0, 50, python_id=1, module=0),
        t.op("aten::mm", 10, 20, **linked),
        t.op(f"{EVALUATES}MmBackward0", 60, 20),
        t.op("MmBackward0", 61, 10, **(linked | {"Fwd thread id": 1})),
    ]
    table = modules(t.trace(events), Selection()).tables["modules"]
    assert table.frame["recomputations"].to_list() == [None]
    assert table.null_reasons["recomputations"] == NOTHING_AGAIN


def test_device_work_of_no_module_has_rows() -> None:
    """The optimizer's, a copy nothing is around, and what the file does not link; null else."""
    events = [
        t.frame("nn.Module: Net", 0, 50, python_id=1, module=0),
        t.op("aten::mm", 10, 20),
        t.call("cudaLaunchKernel", 12, 3, corr=1),
        t.kernel("gemm", 20, 30, corr=1),
        t.op("aten::_foreach_add_", 60, 20),
        t.call("cudaLaunchKernel", 62, 3, corr=2),
        t.kernel("foreach", 70, 10, corr=2),
        t.call("cudaMemcpyAsync", 90, 3, corr=3),
        t.memcpy(95, 5, corr=3),
        t.kernel("lost", 200, 15, corr=99),
    ]
    view = modules(t.trace(events), Selection())
    table = view.tables["modules"]
    keys = ("path", "kind", "device_total_us", "device_self_us", "occurrences", "host_total_us")
    assert table.frame.select(keys).rows() == [
        ("Net", "module", 30, 30, 1, 50),
        (OUTSIDE, "outside", 15, 15, None, None),
        (UNKNOWN_LAUNCH, "unlinked", 15, 15, None, None),
    ]
    assert "outside all modules" in table.null_reasons["occurrences"]
    assert [(fact.key, fact.value) for fact in view.facts] == [("module_device_time_pct", 50)]
    late = modules(t.trace(events), Selection(start_ns=90_000))
    assert late.tables["modules"].frame.select(keys).rows() == [
        (OUTSIDE, "outside", 5, 5, None, None),
        (UNKNOWN_LAUNCH, "unlinked", 15, 15, None, None),
    ]
    assert late.tables["module_flame"].frame.is_empty()


def backward_node(name: str, ts: float, dur: float, number: int) -> list[t.Event]:
    linked: dict[str, Any] = {"Sequence number": number, "Fwd thread id": 1}
    return [t.op(EVALUATES + name, ts, dur, tid=2), t.op(name, ts, dur - 1, tid=2, **linked)]


def test_a_module_of_several_places_runs_again_in_the_one_whose_gradients_are_computed() -> None:
    """One ReLU shared by two blocks; the recording begins after the forward call of a third."""

    def module(name: str, ts: int, dur: float, number: int, **thread: Any) -> t.Event:
        return t.frame(f"nn.Module: {name}", ts, dur, python_id=ts, module=number, **thread)

    def numbered(number: int) -> Any:
        return {"Sequence number": number}

    events = [
        module("Net", 0, 100, 0),
        module("A", 10, 30, 1),
        module("ReLU", 15, 20, 9),
        t.op("aten::relu", 16, 5, **numbered(1)),
        module("B", 50, 30, 2),
        module("ReLU", 55, 20, 9),
        t.op("aten::relu", 56, 5, **numbered(2)),
        *backward_node("ReluBackward0", 200, 50, 2),
        module("B", 205, 30, 2, tid=2),
        module("ReLU", 210, 20, 9, tid=2),
        *backward_node("ReluBackward0", 300, 50, 1),
        module("A", 305, 20, 1, tid=2),
        module("ReLU", 310, 10, 9, tid=2),
        *backward_node("MulBackward0", 400, 50, 0),
        module("Lost", 405, 20, 7, tid=2),
    ]
    frame = modules(t.trace(events), Selection()).tables["modules"].frame
    keys = ("path", "occurrences", "host_total_us", "recomputations", "recompute_host_total_us")
    assert frame.select(keys).rows() == [
        ("Net", 1, 100, 0, 50),
        ("Net/A", 1, 30, 1, 20),
        ("Net/A/ReLU", 1, 20, 1, 10),
        ("Net/B", 1, 30, 1, 30),
        ("Net/B/ReLU", 1, 20, 1, 20),
        ("Lost", 0, 0, 1, 20),
    ]
