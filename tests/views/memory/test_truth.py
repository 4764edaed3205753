"""The memory view against replaying random records one by one, and against direct sums over the
JSON of real traces."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from tests.views.memory.test_view import STATISTICS, UNKNOWN
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.pairs import NEVER, pair
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.memory.curve import downsampled
from torch_tb_profiler.views.memory.view import memory

record = st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from([-8, 0, 8, 16]))


@given(st.lists(record, max_size=30))
def test_pairing_equals_replaying_record_by_record(rows: list[tuple[int, int, int]]) -> None:
    device, address, size = (np.array([r[k] for r in rows], np.int64) for k in range(3))
    usable = address < 3
    found = pair(device, address, size, usable)
    release = [-1] * len(rows)
    allocation = [-1] * len(rows)
    end = [NEVER] * len(rows)
    reused = [False] * len(rows)
    live: dict[tuple[int, int], int] = {}
    for number, (where, at, bytes_) in enumerate(rows):
        if at == 3 or bytes_ == 0:
            continue
        held = live.pop((where, at), None)
        if held is not None:
            end[held] = number
            if bytes_ < 0:
                release[held], allocation[number] = number, held
            else:
                reused[held] = True
        if bytes_ > 0:
            live[where, at] = number
    assert found.release.tolist() == release
    assert found.allocation.tolist() == allocation
    assert found.end.tolist() == end
    assert found.reused.tolist() == reused


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 99)), min_size=1, max_size=200))
@examples(50)
def test_thinning_keeps_ends_and_peaks(rows: list[tuple[int, int]]) -> None:
    time = np.cumsum([gap for gap, _ in rows])
    value = np.array([v for _, v in rows], np.int64)
    kept = downsampled(MemoryCurve(np.arange(len(rows)), time, value, value // 2), limit=20)
    assert len(kept) <= max(20, min(len(rows), 20))
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert {0, len(rows) - 1} <= set(kept.tolist())
    assert int(np.argmax(value)) in kept
    assert value[kept].min() == value.min()


@st.composite
def memory_traces(draw: st.DrawFn) -> list[t.Event]:
    """Operators and user ranges that nest in any way, and memory events at odd times, so that no
    event lies on an edge."""
    events: list[t.Event] = []

    def fill(begin: int, end: int, above: str) -> None:
        at = begin
        while at + 4 <= end and draw(st.booleans()):
            length = 2 * draw(st.integers(1, (end - at) // 2))
            name = draw(st.sampled_from([n for n in ("a", "b", "c", "range") if n != above]))
            make = t.annotation if name == "range" else t.op
            events.append(make(name, at, length))
            fill(at + 2, at + length - 2, name)
            at += length

    fill(0, 80, "")
    times = draw(st.lists(st.integers(0, 39).map(lambda n: 2 * n + 1), max_size=25))
    for time in times:
        size = draw(st.sampled_from([-8, -4, 4, 8, 16]))
        address = draw(st.integers(1, 4))
        events.append(t.memory(time, size, address=address, device=draw(st.integers(0, 1))))
    return events


@given(memory_traces(), st.sampled_from([None, (20, 60)]))
@examples(100)
def test_statistics_equal_counting_event_by_event(
    events: list[t.Event], span: tuple[int, int] | None
) -> None:
    operators = [e for e in events if e.get("cat") == "cpu_op"]
    low, high = span or (-1, 1000)
    selection = Selection() if span is None else Selection(start_ns=20_000, end_ns=60_000)
    expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 6)
    for event in events:
        if event["ph"] != "i" or not low <= event["ts"] < high:
            continue
        around = [o for o in operators if o["ts"] <= event["ts"] < o["ts"] + o["dur"]]
        around.sort(key=lambda o: o["dur"])
        size, device = event["args"]["Bytes"], f"GPU {event['args']['Device Id']}"
        numbers = (size, max(size, 0), int(size > 0))
        names = [o["name"] for o in around] or [UNKNOWN]
        for place, number in enumerate(numbers):
            expected[device, names[0]][place] += number
            for name in set(names):
                expected[device, name][3 + place] += number
    calls: dict[str, int | None] = {
        name: sum(
            o["name"] == name and o["ts"] < high and o["ts"] + o["dur"] > low for o in operators
        )
        for name in "abc"
    } | {UNKNOWN: None}
    frame = memory(t.trace(events), selection).tables["memory_stats"].frame
    got = {
        (row["device"], row["name"]): [row[key] for key in STATISTICS]
        for row in frame.rows(named=True)
    }
    assert got == {key: [*sums, calls[key[1]]] for key, sums in expected.items() if any(sums)}


def raw_events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def innermost_operators(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[str]]]:
    """Each memory event of a raw trace with the names of the operators around it, innermost
    first; user ranges are looked through. One event at a time."""
    ranges = [e for e in events if e.get("ph") == "X" and e["cat"] in ("cpu_op", "user_annotation")]
    found = []
    for event in events:
        if event.get("ph") != "i" or event["name"] != "[memory]":
            continue
        around = [
            r
            for r in ranges
            if r["tid"] == event["tid"] and r["ts"] <= event["ts"] < r["ts"] + r["dur"]
        ]
        around.sort(key=lambda r: (-r["ts"], r["dur"]))
        found.append((event, [r["name"] if r["cat"] == "cpu_op" else "" for r in around]))
    return found


def assert_possible(events: list[dict[str, Any]], frame: pl.DataFrame) -> None:
    """All rows of a device add up to what its total grew by; what is alive is within the total."""
    records = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"])
    for label, is_host in (("CPU", True), ("GPU", False)):
        of_device = [e["args"] for e in records if (e["args"]["Device Type"] == 0) == is_host]
        rows = frame.filter(pl.col("device").str.starts_with(label))
        before = of_device[0]["Total Allocated"] - of_device[0]["Bytes"]
        last = of_device[-1]["Total Allocated"]
        assert rows["self_size_increase_bytes"].sum() == last - before
        assert rows["alive_bytes"].sum() <= last


@pytest.mark.parametrize(
    "name",
    [
        "h100_bert_small/rank0.pt.trace.json.gz",
        "mi300_bert_small/rank0.pt.trace.json.gz",
    ],
)
def test_real_traces_agree_with_sums_over_the_raw_json(samples: Path, name: str) -> None:
    events = raw_events(samples / name)
    view = memory(t.trace(events), Selection())
    own: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    alive: dict[tuple[int, str], int] = defaultdict(int)
    live: dict[tuple[int, int], tuple[int, str]] = {}
    for event, around in sorted(innermost_operators(events), key=lambda found: found[0]["ts"]):
        name = around[0] if around and around[0] else UNKNOWN
        kind = event["args"]["Device Type"]
        if event["args"]["Bytes"] > 0:
            live[kind, event["args"]["Addr"]] = event["args"]["Bytes"], name
        else:
            live.pop((kind, event["args"]["Addr"]), None)
        size = event["args"]["Bytes"]
        sums = own[kind, name]
        sums[0] += size
        sums[1] += max(size, 0)
        sums[2] += size > 0
    kinds = {kind for kind, _ in own}
    frame = view.tables["memory_stats"].frame
    got = {
        (row["device"] == "CPU", row["name"]): [row[key] for key in STATISTICS[:3]]
        for row in frame.rows(named=True)
        if row["self_allocation_bytes"] or row["self_size_increase_bytes"]
    }
    assert got == {(kind == 0, op): sums for (kind, op), sums in own.items() if any(sums[:2])}
    for (kind, _), (size, name) in live.items():
        alive[kind, name] += size
    for row in frame.rows(named=True):
        assert row["alive_bytes"] == alive[0 if row["device"] == "CPU" else max(kinds), row["name"]]
    assert_possible(events, frame)
    assert len(kinds) == len(set(frame["device"]))
    peaks = {
        kind: max(
            e["args"]["Total Allocated"]
            for e in events
            if e["name"] == "[memory]" and e["args"]["Device Type"] == kind
        )
        for kind in kinds
    }
    assert sorted(view.tables["memory_peaks"].frame["peak_allocated_bytes"]) == sorted(
        peaks.values()
    )


@pytest.mark.parametrize(
    "name",
    [
        "h100_bert_small/rank0.pt.trace.json.gz",
        "mi300_bert_small/rank0.pt.trace.json.gz",
    ],
)
def test_the_peak_of_any_range_is_the_largest_total_held_in_it(samples: Path, name: str) -> None:
    """Also where no memory event lies in the range: looked up in the raw JSON, time by time."""
    events = raw_events(samples / name)
    built = t.trace(events)
    totals = sorted(
        (round(e["ts"] * 1000), e["args"]["Total Allocated"])
        for e in events
        if e["name"] == "[memory]" and e["args"]["Device Type"] != 0
    )
    chance = random.Random(7)
    first, last = totals[0][0], totals[-1][0]
    quiet = 0
    for _ in range(60):
        start = chance.randrange(first - 10**5, last + 10**5)
        end = start + chance.choice([1000, 50_000, 1_000_000])
        inside = [total for at, total in totals if start <= at < end]
        before = [total for at, total in totals if at < start]
        held = [] if totals_at(totals, start) else before[-1:]
        expected = max([*held, *inside], default=None)
        quiet += bool(expected is not None and not inside)
        view = memory(built, Selection(start_ns=start, end_ns=end))
        frame = view.tables["memory_peaks"].frame
        (found,) = frame.filter(pl.col("device").str.starts_with("GPU"))["peak_allocated_bytes"]
        assert found == expected, (start, end)
    assert quiet > 5


def totals_at(totals: list[tuple[int, int]], time: int) -> bool:
    return any(at == time for at, _ in totals)


def test_every_device_of_a_real_trace_adds_up_at_the_peak(samples: Path) -> None:
    (path,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    events = [e for e in raw_events(path) if e["name"] == "[memory]"]
    view = memory(t.trace(raw_events(path)), Selection())
    peak = max(events, key=lambda e: (e["args"]["Total Allocated"], -e["ts"]))
    live: dict[int, int] = {}
    for event in sorted(events, key=lambda e: e["ts"]):
        size = event["args"]["Bytes"]
        if size > 0:
            live[event["args"]["Addr"]] = size
        else:
            live.pop(event["args"]["Addr"], None)
        if event is peak:
            break
    frame = view.tables["peak_composition"].frame
    for grouping in ("operator", "module"):
        rows = frame.filter(frame["grouping"] == grouping)
        assert rows["size_bytes"].sum() == peak["args"]["Total Allocated"]
        assert rows["allocation_count"].sum() == len(live)
    known = frame.filter(frame["grouping"] == "operator").drop_nulls("allocation_count")
    assert known["size_bytes"].sum() == sum(live.values())
