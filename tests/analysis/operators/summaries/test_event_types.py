"""Types of events against every moment of random recordings, and worked ones."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given

from tests.helpers.traces import annotation, call, frame, kernel, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.operators.summaries.event_types import event_types
from torch_tb_profiler.analysis.selection import Selection

SIDES = {"kernel": "device", "gpu_memcpy": "device", "gpu_memset": "device"}


def described(events: list[dict[str, Any]], selection: Selection | None = None) -> dict[str, Any]:
    found = event_types(trace(events), selection or Selection())
    return {f"{kind} {side}": (calls, time) for kind, side, calls, time, _ in found.iter_rows()}


@given(recordings())
def test_times_are_those_in_which_any_event_of_the_type_ran(recording: Recording) -> None:
    moments: dict[str, set[int]] = defaultdict(set)
    calls: dict[str, int] = defaultdict(int)
    for event in recording.events:
        start = reference.ns(event["ts"])
        kind = "ProfileStep" if event["name"].startswith("ProfilerStep#") else event["cat"]
        key = f"{kind} {SIDES.get(kind, 'host')}"
        moments[key] |= set(range(start, start + reference.ns(event["dur"])))
        calls[key] += 1
    found = described(recording.events)
    found.pop("Communication device", None)
    assert found == {key: (count, len(moments[key])) for key, count in calls.items()}


@given(recordings())
def test_a_share_of_the_steps_is_of_what_lies_in_them(recording: Recording) -> None:
    """Against every moment of the host in random recordings."""
    recorded = trace(recording.events)
    steps: set[int] = set()
    for row in recorded.steps.filter("kept").rows(named=True):
        steps |= set(range(row["host_start_ns"], row["host_end_ns"]))
    moments: dict[str, set[int]] = defaultdict(set)
    for event in recording.events:
        start = reference.ns(event["ts"]) - recorded.meta.base_ns
        kind = "ProfileStep" if event["name"].startswith("ProfilerStep#") else event["cat"]
        if SIDES.get(kind, "host") == "host":
            moments[kind] |= set(range(start, start + reference.ns(event["dur"])))
    found = event_types(recorded, Selection()).filter(side="host")
    inside = dict(found.select("type", "in_steps_ns").rows())
    assert inside == {kind: len(each & steps) for kind, each in moments.items()}
    assert all(ns <= len(steps) for ns in inside.values())


def test_a_call_that_outlasts_its_step_is_at_most_all_of_it() -> None:
    """Threads that wait in the system from before the step until after it, as Nsight records."""
    events = [
        step(1, 1000, 100),
        *(call("poll", 10 * tid, 5000, tid=tid, cat="os_runtime") for tid in (2, 3, 4)),
    ]
    found = event_types(trace(events), Selection())
    (row,) = found.filter(type="os_runtime").rows(named=True)
    assert (row["time_ns"], row["in_steps_ns"]) == (5_020_000, 100_000)


def test_communication_is_a_part_of_the_kernels() -> None:
    events = [
        op("aten::mm", 0, 10),
        call("cudaLaunchKernel", 1, 1, corr=1),
        kernel("gemm", 5, 10, corr=1, stream=1),
        call("cudaLaunchKernel", 3, 1, corr=2),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 10, 10, corr=2, stream=2),
    ]
    found = described(events)
    assert found["kernel device"] == (2, 15_000)
    assert found["Communication device"] == (1, 10_000)


def test_modules_and_ranges_of_the_optimizer_have_types_of_their_own() -> None:
    events = [
        step(1, 0, 100),
        frame("nn.Module: Net_0", 10, 30, python_id=1, module=0),
        frame("nn.Module: Linear_0", 12, 5, python_id=2, parent=1, module=1),
        annotation("Optimizer.step#SGD.step", 50, 10),
        annotation("mine", 60, 10),
    ]
    assert described(events) == {
        "ProfileStep host": (1, 100_000),
        "Module host": (1, 30_000),
        "Optimization host": (1, 10_000),
        "user_annotation host": (1, 10_000),
    }


def test_what_sticks_out_by_a_tick_counts() -> None:
    events = [op("a", 0, 10), op("b", 5, 6)]
    found = event_types(trace(events, time_unit_ns=1000), Selection())
    assert found["time_ns"].to_list() == [11_000]


def test_of_a_selection_what_begins_in_it() -> None:
    events = [step(1, 0, 50), op("a", 10, 10), op("b", 30, 10), step(2, 50, 50), op("a", 60, 5)]
    assert described(events, Selection(steps="2"))["cpu_op host"] == (1, 5_000)
    inside = Selection(start_ns=32_000)
    nested = [op("a", 10, 50), op("b", 35, 10)]
    assert described(nested, inside) == {"cpu_op host": (1, 10_000)}
