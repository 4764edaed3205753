"""Exact starts in the arguments are used only if ``ts`` is their whole microseconds."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.analysis.operators.printed.nodes import nodes
from torch_tb_profiler.importers.paddle.exact_starts import exact_starts, refine_starts
from torch_tb_profiler.importers.paddle.late_starts import order_late_starts
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns


def event(ts: int, start: str, tid: str = "1(C++)") -> dict[str, Any]:
    args = {"start_time": start, "end_time": "9 us"}
    return {"ph": "X", "cat": "Operator", "name": "x", "pid": 1, "tid": tid, "ts": ts,
            "dur": 0.5, "args": args}  # fmt: skip


def starts(events: list[dict[str, Any]], version: object = "1.0.2") -> list[int]:
    text = json.dumps({"schemaVersion": version, "traceEvents": events}).encode()
    starts: list[int] = read_bytes(text).tables["slices"]["start_ns"].tolist()
    return starts


def test_starts_come_from_arguments_in_paddle_files_only() -> None:
    events = [event(10, "0.000 us"), event(10, "0.600 us"), event(11, "1.400 us")]

    first, second, third = starts(events)
    assert (second - first, third - first) == (600, 1400)
    assert 10_000 <= first < 11_000
    assert starts(events, version=1) == [10_000, 10_000, 11_000]


def test_inconsistent_arguments_change_nothing() -> None:
    assert starts([event(10, "0.000 us"), event(20, "5.000 us")]) == [10_000, 20_000]
    assert starts([event(10, "0.000 us"), event(11, "soon")])[1] == 11_000


def test_units_and_invalid_times() -> None:
    table = exact_starts(["1.5 us", "2 ms", None, "7 ns", "1 s", "x us"], np.arange(6))
    assert table is not None
    assert table["slice"].tolist() == [0, 1, 3, 4]
    assert table["since_ns"].tolist() == [1500, 2_000_000, 7, 10**9]
    assert exact_starts([None, "1 us"], np.arange(2)) is None


def test_times_beyond_single_precision_stay_as_they_are() -> None:
    slices: ColumnArrays = {
        "start_ns": np.array([5_000, 3_000_000_000_000], np.int64),
        "dur_ns": np.array([10, 10], np.int64),
        "track": np.zeros(2, np.int32),
        "category": np.zeros(2, np.int8),
    }
    refine_starts(
        slices, {"slice": np.arange(2), "since_ns": np.array([400, 2_999_999_997_000], np.int64)}
    )
    assert slices["start_ns"].tolist() == [5_000, 3_000_000_000_000]


def test_calls_begin_in_the_event_before_them() -> None:
    """A call, which the file has behind its operator, begins with it at the earliest; the next
    operator begins where the first one ends."""
    category = [Category.OPERATOR, Category.RUNTIME, Category.OPERATOR]
    least = np.array([3_000_300, 3_000_000, 3_001_000], np.int64)
    slices: ColumnArrays = {
        "start_ns": least.copy(),
        "dur_ns": np.array([900, 200, 9_000], np.int64),
        "track": np.zeros(3, np.int32),
        "category": np.array([int(each) for each in category], np.int8),
    }
    most = least // 1000 * 1000 + 999
    order_late_starts(slices, np.arange(3), least, most)
    assert slices["start_ns"].tolist() == [3_000_300, 3_000_300, 3_001_200]


LATER_US = 6_000_000


def test_what_lies_in_what_is_known_after_seconds_too() -> None:
    """The same recording six seconds later, whose starts Paddle would print with half
    microseconds: every event lies in the one that it lies in."""
    path = Path(__file__).parents[2] / "data" / "paddle" / "nested.paddle_trace.json.gz"
    recording = json.loads(gzip.decompress(path.read_bytes()))
    expected = _parents(read_bytes(json.dumps(recording).encode()))
    first = min(each["ts"] for each in recording["traceEvents"] if "ts" in each)
    for each in recording["traceEvents"]:
        if "ts" in each:
            each["ts"] += LATER_US
        if "start_time" in each.get("args", {}):
            late_ns = (float(each["args"]["start_time"].removesuffix(" us")) + LATER_US) * 1000
            each["args"]["start_time"] = f"{np.float32(np.float32(late_ns) / 1000):.3f} us"
    recording["traceEvents"].insert(0, event(first, "0.000 us"))
    later = _parents(read_bytes(json.dumps(recording).encode()))
    del later["x", None]
    assert later == expected
    assert sum(expected.values()) > 500


def _parents(events: EventColumns) -> Counter[tuple[str | None, str | None]]:
    trace = build_trace(events)
    tree = nodes(trace)
    codes = trace.slices["name_code"].to_numpy()[tree.slice]
    names = [trace.text(code) for code in codes.tolist()]
    return Counter(
        (name, names[outer] if outer >= 0 else None)
        for name, outer in zip(names, tree.parent.tolist(), strict=True)
    )
