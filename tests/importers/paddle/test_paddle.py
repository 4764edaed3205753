"""Paddle's exports: durations leave the names, its types of events are known."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.kineto.reference import read_bytes, read_file
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.event_query import SearchLimits
from torch_tb_profiler.importers.paddle.reader import find
from torch_tb_profiler.importers.source import source_of
from torch_tb_profiler.loading.queries.arguments import event_query
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.views.memory.view import memory
from torch_tb_profiler.views.overview.view import overview


def names(columns: EventColumns) -> list[str]:
    return [columns.strings[code] for code in columns.tables["slices"]["name_code"]]


def event(name: str) -> dict[str, Any]:
    return {"ph": "X", "cat": "Operator", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 1}


def test_durations_are_removed_from_names_in_paddle_files_only() -> None:
    given = ["a[2.765 ms]", "a[24.745 us]", "b [3 ns][1 s]", "c[1.5 us] x", "d"]
    events = [event(name) for name in given] + [{}]
    paddle = {"schemaVersion": "1.0.2", "traceEvents": events}
    columns = read_bytes(json.dumps(paddle).encode())
    assert names(columns) == ["a", "a", "b [3 ns]", "c[1.5 us] x", "d"]
    assert len(set(columns.tables["slices"]["name_code"].tolist())) == 4
    assert (columns.format, columns.info.framework) == ("paddle", "Paddle")
    torch = read_bytes(json.dumps(paddle | {"schemaVersion": 1}).encode())
    assert names(torch) == given
    assert (torch.format, torch.info.framework) == ("kineto", None)


def test_a_real_export(corpus: Path) -> None:
    data = (corpus / "paddle_3.3.1" / "bare.paddle_trace.json.gz").read_bytes()
    text = gzip.decompress(data).decode("utf-8", "replace") if data[:2] == b"\x1f\x8b" else ""
    events = json.loads(text)["traceEvents"]
    expected = Counter(
        re.split(r"\[[0-9.]+ [num]?s\]$", e["name"])[0] for e in events if e.get("ph") == "X"
    )
    assert Counter(names(read_bytes(data))) == expected


@pytest.mark.parametrize("name", ["w0", "w2"])
@pytest.mark.parametrize("ending", ["json", "pb"])
def test_peaks_equal_paddles_summary(corpus: Path, name: str, ending: str) -> None:
    """Its "Memory Summary" prints the peaks that the allocators count."""
    folder = corpus / "paddle_3.3.1" / "oracle"
    summary = (folder / f"{name}.summary_us.txt").read_text(encoding="utf-8")
    own = [
        int(re.findall(rf"^Peak {what} Memory: ([0-9]+)", summary, re.MULTILINE)[0])
        for what in ("Allocated", "Reserved")
    ]
    trace = build_trace(read_file(folder / f"{name}.paddle_trace.{ending}"))

    (row,) = memory(trace, Selection()).tables["memory_peaks"].frame.rows(named=True)

    assert [row[f"recorded_peak_{what}_bytes"] for what in ("allocated", "reserved")] == own


def test_peaks_are_those_of_the_allocator_and_not_of_the_totals() -> None:
    """A peak between two events, and one before the recording; a selection has none."""
    text = json.dumps(
        {
            "schemaVersion": "1.0.2",
            "span_index": "0",
            "traceEvents": [
                {"ph": "X", "name": "op[1 us]", "cat": "Operator", "pid": 1, "tid": "1(C++)",
                 "ts": 0, "dur": 100},
                *(
                    {"ph": "i", "name": "[memory]", "cat": "Allocate", "pid": 1, "tid": "1(C++)",
                     "ts": at, "args": {"place": "Place(gpu:0)", "addr": str(at),
                                        "increase_bytes": 10, "current_allocated": 10 * at,
                                        "current_reserved": 60, "peak_allocated": peak,
                                        "peak_reserved": 500}}
                    for at, peak in ((5, 300), (6, 320))
                ),
            ]
        }
    )  # fmt: skip
    trace = build_trace(read_bytes(text.encode()))
    frame = memory(trace, Selection()).tables["memory_peaks"].frame
    (row,) = frame.rows(named=True)
    assert (row["peak_allocated_bytes"], row["peak_reserved_bytes"]) == (60, 60)
    assert row["recorded_peak_allocated_bytes"] == 320
    assert row["recorded_peak_reserved_bytes"] == 500
    facts = {fact.key: fact.value for fact in memory(trace, Selection()).facts}
    assert facts["recorded_peak_allocated_bytes"] == 320
    part = memory(trace, Selection(start_ns=0, end_ns=6_000)).tables["memory_peaks"]
    assert part.frame["recorded_peak_allocated_bytes"].to_list() == [None]
    assert "not for a selection" in part.null_reasons["recorded_peak_allocated_bytes"]


@pytest.mark.parametrize("name", ["w0", "w2"])
def test_steps_and_data_loading_equal_paddles_summary(corpus: Path, name: str) -> None:
    """Its "Overview Summary" lists calls and merged time in µs per type of event."""
    folder = corpus / "paddle_3.3.1" / "oracle"
    summary = (folder / f"{name}.summary_us.txt").read_text(encoding="utf-8")
    own = {
        kind: float(re.findall(rf"^ *{kind} +4 +([0-9.]+) ", summary, re.MULTILINE)[0])
        for kind in ("ProfileStep", "Dataloader")
    }
    trace = build_trace(read_file(folder / f"{name}.paddle_trace.json"))

    steps = overview(trace, Selection()).tables["steps"].frame

    assert steps["step"].to_list() == ["2", "3", "4", "5"]
    assert steps["total_us"].sum() == pytest.approx(own["ProfileStep"], abs=0.02)
    assert steps["dataloader_us"].sum() == pytest.approx(own["Dataloader"], abs=0.02)


def test_the_layers_of_a_thread_are_one_thread(corpus: Path) -> None:
    """C++ ranges nest in Python ranges, and no slice crosses another."""
    trace = build_trace(read_file(corpus / "paddle_3.3.1" / "oracle" / "w0.paddle_trace.json"))
    tracks, slices = trace.tracks, trace.slices
    raw = np.array([trace.text(code) for code in slices["raw_category_code"]])
    parent = slices["parent"].fill_null(-1).to_numpy()

    assert tracks["tid"].to_list() == ["30590", "30662"]
    assert tracks["thread_name"][0] == "thread 30590:MainThread"
    around = set(raw[parent[raw == "Operator"]])
    assert around == {"Forward", "Backward", "Optimization", "ProfileStep"}
    assert slices["lane"].max() == 0
    assert not {"unknown_category", "crossing_operator"} & set(trace.quality.counts)
    assert (trace.meta.info.process_cpu_pct, trace.meta.info.system_cpu_pct) == (40, 100)


def test_events_are_located_in_the_file(corpus: Path) -> None:
    path = corpus / "paddle_3.3.1" / "oracle" / "w2.paddle_trace.json"
    location = open_location(str(path))
    trace, source = build_trace(read_file(path)), source_of(location, file_state(location))
    for slice_id in range(0, trace.slices.height, 61):
        match = find(source, event_query(trace, slice_id), SearchLimits(1 << 30, 60))
        assert match is not None
        assert match.end == "found", slice_id
        assert "start_time" in match.arguments


def test_paddles_categories_apply_to_paddle_files_only() -> None:
    loading = event("x") | {"cat": "Dataloader"}
    torch = read_bytes(json.dumps({"schemaVersion": 1, "traceEvents": [loading]}).encode())

    assert torch.quality.counts["unknown_category"] == 1
