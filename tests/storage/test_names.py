"""Cases: names of traces and of other files; directly named files; natural order; equal names."""

from __future__ import annotations

import pytest

from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.storage.names import DistinctNames, TraceName, natural_key, run_order

NAMES = trace_names()


@pytest.mark.parametrize(
    ("base_name", "worker", "stamp"),
    [
        ("w.pt.trace.json", "w", None),
        ("w.123.pt.trace.json.gz", "w", "123"),
        ("a.1.2.pt.trace.json", "a.1", "2"),
        ("host_12.1699999999999999999.pt.trace.json", "host_12", "1699999999999999999"),
        (
            "rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
            "rank-34.Jul_15_10_52_41",
            "1074",
        ),
        ("1623.pt.trace.json", "1623", None),
        (".pt.trace.json", "", None),
        ("new\nline.7.pt.trace.json", "new\nline", "7"),
    ],
)
def test_trace_names(base_name: str, worker: str, stamp: str | None) -> None:
    assert NAMES.parse_file(base_name) == TraceName(worker, stamp)


@pytest.mark.parametrize(
    "base_name",
    [
        "trace.json",
        "w.pt.trace.json.bz2",
        "w.PT.trace.json",
        "x.pt.trace.json.gz.tmp",
        "x.pt.trace.json\n",
    ],
)
def test_names_of_other_files(base_name: str) -> None:
    assert NAMES.parse_file(base_name) is None


@pytest.mark.parametrize(
    ("base_name", "worker"),
    [("step5.json", "step5"), ("a.b.json.gz", "a.b"), (".json", ".json"), ("raw", "raw")],
)
def test_a_directly_named_file_needs_no_special_name(base_name: str, worker: str) -> None:
    assert NAMES.parse_any(base_name) == TraceName(worker, None)


def test_numbers_in_names_order_as_numbers() -> None:
    stamps = ["10", "9", "1623143089861", "1795226204998602646", "0", "9" * 5000]
    assert sorted(stamps, key=natural_key) == sorted(stamps, key=lambda s: (len(s), s))
    assert sorted(["rank10", "rank2", "rank", "a"], key=natural_key) == [
        "a",
        "rank",
        "rank2",
        "rank10",
    ]


def test_captures_of_graphs_are_listed_behind_the_traces_that_replay_them() -> None:
    runs = ["capture_traces/bs_8", "capture_traces", "run", "a/capture_traces/bs_10", "a"]
    assert sorted(runs, key=run_order) == [
        "a",
        "run",
        "a/capture_traces/bs_10",
        "capture_traces",
        "capture_traces/bs_8",
    ]


def test_equal_names_get_endings_and_each_ending_is_tried_once() -> None:
    taken, tried = {"a", "b+"}, 0

    def is_taken(name: str) -> bool:
        nonlocal tried
        tried += 1
        return name in taken

    distinct = DistinctNames()
    chosen = []
    for name in ["a", "b", "b", "a", "a", *["c"] * 1000]:
        chosen.append(distinct.choose(name, name, is_taken))
        taken.add(chosen[-1])
    assert chosen[:8] == ["a+", "b", "b+2", "a+2", "a+3", "c", "c+", "c+2"]
    assert len(set(chosen)) == len(chosen)
    assert tried < 2 * len(chosen) + 10
