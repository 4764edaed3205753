"""What holds memory at the peaks of two sides, against allocations that are known."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import traces as t
from tests.helpers.snapshots import simulated, trace_of
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.view import compare

ALL = Selection()
SAMPLES = Path(__file__).parents[3] / "samples"


def holding(sizes: dict[str, int]) -> Trace:
    """A step of operators that allocate these sizes on GPU 0 and free nothing."""
    events: list[t.Event] = [t.step(0, 0, 1000)]
    total = 0
    for number, (name, size) in enumerate(sizes.items()):
        at = 10 + 50 * number
        total += size
        args = {
            "Bytes": size, "Addr": 4096 * (number + 1), "Device Type": 1, "Device Id": 0,
            "Total Allocated": total, "Total Reserved": total,
        }  # fmt: skip
        memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t"}
        where = {"pid": t.HOST, "tid": 1, "ts": at + 5, "args": args}
        events += [t.op(name, at, 40), {**memory, **where}]
    return t.trace(events)


def parts(a: Trace, b: Trace) -> list[dict[str, Any]]:
    return list(compare(a, ALL, b, ALL).tables["memory_parts"].frame.rows(named=True))


def test_operators_that_hold_more_come_first_and_what_one_side_lacks_is_zero() -> None:
    rows = parts(holding({"aten::mm": 1000, "aten::relu": 64}), holding({"aten::mm": 200, "a": 8}))
    operators = [
        (row["name"], row["baseline_size_bytes"], row["candidate_size_bytes"])
        for row in rows
        if row["grouping"] == "operator"
    ]
    assert operators == [("aten::mm", 1000, 200), ("aten::relu", 64, 0), ("a", 0, 8)]


@pytest.mark.parametrize("sample", ["h100_bert_small", "cpu_resnet_full"])
def test_parts_add_up_to_the_peak(sample: str) -> None:
    trace = open_trace(SAMPLES / sample).trace
    view = compare(trace, ALL, trace, ALL)
    peaks = {
        row["device"]: row["baseline_size_bytes"]
        for row in view.tables["memory"].frame.rows(named=True)
        if row["measure"] == "peak_allocated"
    }
    sums: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in view.tables["memory_parts"].frame.rows(named=True):
        sums[row["device"], row["grouping"]] += row["baseline_size_bytes"]
        assert row["delta_size_bytes"] == 0
    assert sums
    assert {device for device, _ in sums} <= peaks.keys()
    for (device, _), size in sums.items():
        assert size == peaks[device]


@pytest.mark.parametrize("seed", range(3))
def test_snapshots_are_compared_by_call_stack(seed: int) -> None:
    """Two snapshots of simulated allocators: what is in use at the peak is known of both."""
    sides = [simulated(seed), simulated(seed + 100)]
    traces = [trace_of(pickle.dumps(snapshot)) for snapshot, _ in sides]
    rows = parts(traces[0], traces[1])
    assert {row["grouping"] for row in rows} == {"call stack"}
    for key, (_, (live,)) in zip(("baseline", "candidate"), sides, strict=True):
        peak = max(sum(sizes.values()) for sizes in live)
        shown = sum(row[f"{key}_size_bytes"] for row in rows)
        assert shown == pytest.approx(peak, rel=0.02), key  # rounded up to the allocator's blocks


def test_no_category_of_a_snapshot_changed_because_it_records_no_execution() -> None:
    """Without a step the reason is that; with one it is that of its categories."""
    snapshot, _ = simulated(0)
    times = [e["time_us"] for events in snapshot["device_traces"] for e in events]
    mark = {"name": "ProfilerStep#1", "device": 0}
    annotations = [
        {**mark, "stage": "START", "time_us": min(times)},
        {**mark, "stage": "END", "time_us": max(times)},
    ]
    reasons = []
    for marks in ([], annotations):
        trace = trace_of(pickle.dumps({**snapshot, "external_annotations": marks}))
        (fact,) = [f for f in compare(trace, ALL, trace, ALL).facts if f.key == "largest_change"]
        assert fact.value is None
        reasons.append(fact.reason)
    assert reasons == [
        "One side has no step in the selection.",
        "A memory snapshot records memory, not execution.",
    ]
