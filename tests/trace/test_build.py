"""Whole random traces against plain-Python references: links, owners, sums, steps."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.snapshots import simulated, trace_of
from tests.helpers.traces import Event, annotation, call, columns, frame, kernel, op, trace
from tests.helpers.traces import step as step_event
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import (
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.model import TABLES, Trace

Row = dict[str, Any]
FEWER = examples(50)
"""Every test of this module builds whole traces, 10 ms each."""

times = st.integers(0, 60)
lengths = st.integers(0, 30)
threads = st.integers(1, 2)
ids = st.one_of(st.none(), st.integers(-1, 6))

host_events = st.one_of(
    st.builds(op, st.sampled_from(["a", "b"]), times, lengths, tid=threads, ext=ids),
    st.builds(annotation, st.just("range"), times, lengths, tid=threads),
    st.builds(frame, st.just("f.py(1): f"), times, lengths, tid=threads),
    st.builds(
        call,
        st.sampled_from(["cudaLaunchKernel", "cudaStreamSynchronize"]),
        times,
        st.integers(0, 5),
        tid=threads,
        corr=ids,
    ),
)
device_events = st.builds(
    kernel, st.just("k"), st.integers(0, 90), lengths, corr=ids, stream=st.integers(7, 8)
)


@st.composite
def step_events(draw: st.DrawFn) -> list[Event]:
    """Up to four steps, one after the other."""
    at, steps = draw(st.integers(0, 20)), []
    for number in range(draw(st.integers(0, 4))):
        length = draw(st.integers(1, 25))
        steps.append(step_event(number, at, length, tid=1))
        at += length + draw(st.integers(0, 5))
    return steps


traces = st.builds(
    lambda steps, host, device: steps + host + device,
    step_events(),
    st.lists(host_events, max_size=14),
    st.lists(device_events, max_size=8),
)


def rows_of(built: Trace) -> list[Row]:
    rows = built.slices.rows(named=True)
    for row in rows:
        row["end_ns"] = row["start_ns"] + row["dur_ns"]
        row["name"] = built.text(row["name_code"])
    return rows


def innermost(rows: list[Row], categories: tuple[Category, ...], track: int, time: int) -> Any:
    around = [
        row["id"]
        for row in rows
        if row["category"] in categories
        and row["track"] == track
        and row["start_ns"] <= time < row["end_ns"]
    ]
    return max(around, default=None)


def ancestors(rows: list[Row], row_id: int | None) -> list[int]:
    above = []
    while row_id is not None:
        above.append(row_id)
        row_id = rows[row_id]["parent"]
    return above


@given(traces)
@FEWER
def test_every_event_is_there_in_order(events: list[Event]) -> None:
    built = trace(events)
    rows = rows_of(built)
    order = [(row["track"], row["start_ns"], -row["dur_ns"]) for row in rows]
    assert order == sorted(order)
    wanted = sorted((event["name"], 1000 * event["ts"], 1000 * event["dur"]) for event in events)
    assert sorted((row["name"], row["start_ns"], row["dur_ns"]) for row in rows) == wanted
    assert [row["id"] for row in rows] == list(range(len(rows)))


@given(traces)
@FEWER
def test_launches_follow_correlation(events: list[Event]) -> None:
    built = trace(events)
    rows = rows_of(built)
    for work in built.device_work.rows(named=True):
        number = rows[work["slice"]]["correlation"]
        calls = [
            (row["name"] != "cudaLaunchKernel", row["start_ns"], row["id"])
            for row in rows
            if row["category"] == Category.RUNTIME and row["correlation"] == number
        ]
        best = min(calls) if calls and number is not None and number > 0 else None
        assert (work["launch"] is None) == (best is None)
        if best is not None:
            launch = rows[work["launch"]]
            assert (launch["name"] != "cudaLaunchKernel", launch["start_ns"]) == best[:2]
            assert work["launch_delay_ns"] == max(0, work["start_ns"] - launch["start_ns"])
        reason = "no_launch" if best is None else "no_operator"
        assert work["orphan_reason"] == (reason if work["owner"] is None else None)


@given(traces)
@FEWER
def test_owners_are_the_innermost_operators_around_the_call(events: list[Event]) -> None:
    built = trace(events)
    rows = rows_of(built)
    for row in rows:
        if row["category"] != Category.RUNTIME:
            continue
        place = innermost(rows, NODE_CATEGORIES, row["track"], row["start_ns"])
        above = [i for i in ancestors(rows, place) if rows[i]["category"] == Category.OPERATOR]
        owner = above[0] if above else place
        if owner is not None and rows[owner]["absorbed_into"] is not None:
            owner = rows[owner]["absorbed_into"]
        assert row["parent"] == owner
        assert row["frame"] == innermost(rows, PYTHON_CATEGORIES, row["track"], row["start_ns"])
    for work in built.device_work.rows(named=True):
        if work["launch"] is not None:
            assert work["owner"] == rows[work["launch"]]["parent"]


@given(traces)
@FEWER
def test_absorbed_operators_are_only_children_of_their_name(events: list[Event]) -> None:
    rows = rows_of(trace(events))
    nodes = [row for row in rows if row["category"] in NODE_CATEGORIES]
    for row in nodes:
        siblings = [other for other in nodes if other["parent"] == row["parent"]]
        parent = rows[row["parent"]] if row["parent"] is not None else None
        double = (
            parent is not None
            and len(siblings) == 1
            and row["category"] == parent["category"] == Category.OPERATOR
            and row["name"] == parent["name"]
        )
        assert (row["absorbed_into"] is not None) == double
        if parent is not None and double:
            above = parent["absorbed_into"]
            assert row["absorbed_into"] == (parent["id"] if above is None else above)


@given(traces)
@FEWER
def test_device_sums_by_recursion(events: list[Event]) -> None:
    built = trace(events)
    rows = rows_of(built)
    own = {row["id"]: 0 for row in rows}
    for work in built.device_work.rows(named=True):
        if work["owner"] is not None:
            own[work["owner"]] += work["dur_ns"]

    def total(node: int) -> int:
        inner = [r["id"] for r in rows if r["parent"] == node and r["category"] in NODE_CATEGORIES]
        return own[node] + sum(total(child) for child in inner)

    for row in rows:
        is_node = row["category"] in NODE_CATEGORIES
        assert row["device_self_ns"] == (own[row["id"]] if is_node else None)
        assert row["device_total_ns"] == (total(row["id"]) if is_node else None)
        assert (row["self_ns"] is None) == (not is_node)


@given(traces)
@FEWER
def test_host_self_counts_no_moment_of_a_child_or_call(events: list[Event]) -> None:
    """Of traces without absorption and overlap, self time is what a moment-by-moment count says."""
    built = trace(events)
    rows = rows_of(built)
    if built.quality.counts.get("overlapping_slices"):
        return
    if any(row["absorbed_into"] is not None for row in rows):
        return
    for row in rows:
        if row["category"] not in NODE_CATEGORIES:
            continue
        nodes = [r for r in rows if r["category"] in NODE_CATEGORIES and r["parent"] == row["id"]]
        calls = [
            r
            for r in rows
            if r["category"] == Category.RUNTIME
            and innermost(rows, NODE_CATEGORIES, r["track"], r["start_ns"]) == row["id"]
            and r["track"] == row["track"]
        ]
        parts = nodes + calls
        overlap = any(
            a["id"] < b["id"] and a["end_ns"] > b["start_ns"] and b["end_ns"] > a["start_ns"]
            for a in parts
            for b in parts
            if a["category"] != b["category"] or a["category"] != Category.RUNTIME
        )
        if overlap:
            continue  # a call that runs into a sibling operator: no real trace has it
        moments = range(row["start_ns"], row["end_ns"], 1000)
        free = [t for t in moments if not any(p["start_ns"] <= t < p["end_ns"] for p in parts)]
        assert row["self_ns"] == 1000 * len(free)


@given(traces)
@FEWER
def test_steps_of_slices(events: list[Event]) -> None:
    built = trace(events)
    rows, steps = rows_of(built), built.steps.rows(named=True)
    if "no_steps" in built.quality.counts:
        assert [row["step"] for row in rows] == [0] * len(rows)
        return

    def step_at(time: int) -> int | None:
        return next(
            (i for i, s in enumerate(steps) if s["host_start_ns"] <= time < s["host_end_ns"]), None
        )

    launch_of = {work["slice"]: work["launch"] for work in built.device_work.rows(named=True)}
    for row in rows:
        if row["category"] in DEVICE_WORK_CATEGORIES:
            launch = launch_of[row["id"]]
            expected = None if launch is None else step_at(rows[launch]["start_ns"])
        else:
            expected = step_at(row["start_ns"])
        assert row["step"] == expected


@given(traces)
@FEWER
def test_steps_stretch_and_drop_their_tail_as_described(events: list[Event]) -> None:
    """The wording of ``docs/metrics.md#steps``, step by step and event by event."""
    built = trace(events)
    rows, steps = rows_of(built), built.steps.rows(named=True)
    work = [
        (rows[w["slice"]], None if w["launch"] is None else rows[w["launch"]])
        for w in built.device_work.rows(named=True)
    ]
    of_step: list[list[Row]] = [[] for _ in steps]
    outside: list[Row] = []
    for device, launch in work:
        homes = [
            i
            for i, s in enumerate(steps)
            if launch is not None
            and s["host_start_ns"] <= launch["start_ns"] < s["host_end_ns"]
            and launch["end_ns"] <= s["host_end_ns"]
        ]
        (of_step[homes[0]] if homes else outside).append(device)
    assert [s["device_events"] for s in steps] == [len(devices) for devices in of_step]
    boundary = steps[0]["host_start_ns"] if steps else 0
    if steps and of_step[0]:
        first = min(device["start_ns"] for device in of_step[0])
        boundary = max([boundary, *(d["end_ns"] for d in outside if d["end_ns"] < first)])
    stretched = []
    for s, devices in zip(steps, of_step, strict=True):
        start = max(boundary, s["host_start_ns"])
        boundary = max([start, s["host_end_ns"], *(d["end_ns"] for d in devices)])
        stretched.append((start, boundary))
    if not any(of_step):
        stretched = [(s["host_start_ns"], s["host_end_ns"]) for s in steps]
    assert [(s["start_ns"], s["end_ns"]) for s in steps] == stretched
    counts = [len(devices) for devices in of_step]
    kept = len(steps)
    if len(steps) > 1 and any(counts):
        last = max(i for i, count in enumerate(counts) if count)
        earlier = [count for count in counts[:last] if count]
        others = earlier[1:] or earlier
        kept = last if others and counts[last] < 0.8 * min(others) else last + 1
    elif len(steps) > 1 and ended_in_the_last(rows, steps):
        kept -= 1
    assert [s["kept"] for s in steps] == [i < kept for i in range(len(steps))]


def ended_in_the_last(rows: list[Row], steps: list[Row]) -> bool:
    """Whether a recording without device work ended in its last step."""
    operators = [row for row in rows if row["category"] in (0, 1)]
    inside = [
        [row for row in operators if s["host_start_ns"] <= row["start_ns"] < s["host_end_ns"]]
        for s in steps
    ]
    long = [s["host_end_ns"] - s["host_start_ns"] for s in steps]
    counts = [len(of_step) for of_step in inside]
    fewest, shortest = min(counts[:-1]), min(long[:-1])
    if counts[-1] >= 0.8 * fewest:
        return False
    whole, part = (
        [row["name_code"] for row in of_step if row["track"] == rows[s["slice"]]["track"]]
        for s, of_step in zip(steps[-2:], inside[-2:], strict=True)
    )
    same = next((i for i, name in enumerate(part) if [name] != whole[i : i + 1]), len(part))
    begins_like = 0 < len(part) < len(whole) and same >= 0.9 * len(part)
    return begins_like or (counts[-1] < 0.1 * fewest and long[-1] < 0.1 * shortest)


@given(traces)
@FEWER
def test_lanes_of_a_stream_never_overlap(events: list[Event]) -> None:
    built = trace(events)
    rows = [row for row in rows_of(built) if row["category"] == Category.KERNEL]
    for a in rows:
        for b in rows:
            if a["id"] < b["id"] and (a["track"], a["lane"]) == (b["track"], b["lane"]):
                assert b["start_ns"] >= a["end_ns"] - 1
    moved = [row for row in rows if row["lane"] > 0]
    assert len(moved) <= built.quality.counts.get("overlapping_slices", 0)


@given(traces)
@FEWER
def test_tables_have_their_declared_columns(events: list[Event]) -> None:
    built = trace(events)
    for name, schema in TABLES.items():
        assert dict(getattr(built, name).schema) == schema, name


def test_an_empty_trace() -> None:
    built = build_trace(columns([]))
    assert built.slices.height == built.steps.height == built.devices.height == 0
    assert (built.meta.start_ns, built.meta.end_ns, built.meta.span_start_ns) == (0, 0, None)


def test_a_trace_of_device_work_alone() -> None:
    built = trace([kernel("k", 10, 5), kernel("k", 20, 5)])
    assert built.steps.select("name", "start_ns", "end_ns").rows() == [("0", 10_000, 25_000)]
    assert built.device_work["orphan_reason"].to_list() == ["no_launch"] * 2
    assert built.slices["parent"].to_list() == [None, None]


def test_the_span_of_the_recording() -> None:
    span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 5, "dur": 95}
    built = trace([{**span, "pid": "Spans", "tid": "PyTorch Profiler"}, op("a", 10, 100)])
    assert (built.meta.span_start_ns, built.meta.span_end_ns) == (5000, 100_000)
    assert (built.meta.start_ns, built.meta.end_ns) == (5000, 110_000)


def test_memory_events_of_a_snapshot_extend_it_beyond_its_user_ranges() -> None:
    snapshot, _ = simulated(events=40)
    events = [each["time_us"] for each in snapshot["device_traces"][0]]
    whole_us = events[-1] - events[0]
    assert whole_us > 0
    plain = trace_of(pickle.dumps(snapshot, 4))
    assert plain.meta.end_ns - plain.meta.start_ns == whole_us * 1000
    snapshot["external_annotations"] = [
        {"name": "step", "stage": stage, "device": 0, "time_us": events[20] + at}
        for stage, at in (("START", 0), ("END", 1))
    ]
    ranged = trace_of(pickle.dumps(snapshot, 4))
    assert ranged.slices.height == 1
    assert (ranged.meta.start_ns, ranged.meta.end_ns) == (plain.meta.start_ns, plain.meta.end_ns)


def test_a_deep_trace_is_summed_without_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "levels=20000,nested=1e9")
    depth = 10_000
    ops = [op(f"level {i % 7}", i, 2 * (depth - i), ext=i + 1) for i in range(depth)]
    launch = call("cudaLaunchKernel", depth, 0.5, corr=77_777)
    built = trace([*ops, launch, kernel("k", 3 * depth, 4, corr=77_777)])
    nodes = built.slices.filter(built.slices["category"] == Category.OPERATOR)
    assert nodes["device_total_ns"].to_list() == [4000] * depth
    assert nodes["device_self_ns"].sum() == 4000
    assert nodes["depth"].max() == depth - 1
