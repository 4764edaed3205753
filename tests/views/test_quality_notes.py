"""Quality issues become notes, the serious ones first."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, annotation, frame, kernel, op, trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.quality_notes import (
    CUT_ISSUES,
    HARMLESS,
    ISSUE_COLUMNS,
    LINK_ISSUES,
    LOSS_ISSUES,
    MEMORY_ISSUES,
    MODULE_ISSUES,
    STEP_ISSUES,
    is_cut_short,
    quality_notes,
    quality_notes_of_several,
)
from torch_tb_profiler.views.registry import all_views


def test_every_listed_issue_exists() -> None:
    chosen = (LINK_ISSUES, MODULE_ISSUES, MEMORY_ISSUES, STEP_ISSUES)
    assert set(ISSUE_TEXTS) >= HARMLESS.union(ISSUE_COLUMNS, *chosen)
    assert all(issues >= LOSS_ISSUES for issues in chosen)
    assert LOSS_ISSUES >= CUT_ISSUES


def test_notes_say_what_happened_how_often_and_where() -> None:
    recorded = trace([op("aten::mm", 0, 5)])
    recorded.quality.add("trailing_comma", 2)
    recorded.quality.add("event_dropped", 3, "byte 17: <img onerror=x>")
    notes = {note.code: note for note in quality_notes(recorded)}
    assert quality_notes(recorded)[0].severity == "warning"
    dropped = notes["event_dropped"]
    assert dropped.kind == "quality"
    assert dropped.text == ISSUE_TEXTS["event_dropped"]
    assert dropped.evidence == {
        "count": 3,
        "examples": ["byte 17: <img onerror=x>"],
        "columns": [],
    }
    assert notes["trailing_comma"].severity == "info"
    only = quality_notes(recorded, {"trailing_comma"})
    assert [note.code for note in only] == ["trailing_comma"]


def test_a_note_names_the_columns_it_bends() -> None:
    recorded = trace([op("aten::mm", 0, 5)])
    recorded.quality.add("launch_without_kernel")
    (note,) = quality_notes(recorded, {"launch_without_kernel"})
    assert note.evidence["columns"] == ["device_self_us", "device_total_us"]


def test_marked_columns_are_columns_of_a_view_or_facts() -> None:
    core = [all_views()[name] for name in ("overview", "operators", "kernels")]
    keys = {column.key for spec in core for table in spec.tables for column in table.columns}
    facts = {"average_step_us", "step_count"}
    assert {key for marked in ISSUE_COLUMNS.values() for key in marked} <= keys | facts


ON_DEVICE = [kernel("a", 0, 50), kernel("b", 20, 50)]
ON_HOST = [op("aten::a", 0, 50), op("aten::b", 20, 50)]


@pytest.mark.parametrize(
    ("events", "count", "columns"),
    [
        (ON_DEVICE, 1, []),
        ([*ON_DEVICE, *(kernel("c", at, 50, stream=9) for at in (0, 20, 40))], 3, []),
        (ON_HOST, 1, ["host_self_us", "host_total_us"]),
        ([*ON_HOST, *ON_DEVICE], 2, ["host_self_us", "host_total_us"]),
        ([*ON_DEVICE, annotation("r", 0, 9), annotation("s", 5, 9)], 2, ["host_self_us"]),
        ([*ON_DEVICE, frame("f", 0, 9), frame("g", 5, 9)], 2, ["host_self_us"]),
    ],
)
def test_overlaps_of_devices_alone_bend_no_time_of_the_host(
    events: list[Event], count: int, columns: list[str]
) -> None:
    (note,) = quality_notes(trace(events), {"overlapping_slices"})
    assert note.evidence["count"] == count
    assert note.severity == ("warning" if columns else "info")
    result = note.evidence["columns"]
    assert isinstance(result, list)
    assert bool(result) == bool(columns)
    assert set(result) >= set(columns)
    assert ("All of them are on devices" in note.text) == (not columns)


def recorded(*issues: str) -> Trace:
    built = trace([op("aten::mm", 0, 5)])
    for issue in issues:
        built.quality.add(issue)
    return built


def test_one_note_names_the_recordings_it_is_about() -> None:
    traces = {
        "r0": recorded("truncated"),
        "r1": recorded(),
        "r2": recorded("truncated", "truncated", "string_time"),
    }
    cut, spelled = quality_notes_of_several(traces, {"truncated", "string_time"}, "worker")
    assert cut.text == f"r0, r2: {ISSUE_TEXTS['truncated']}"
    assert cut.evidence == {
        "count": 3,
        "workers": ["r0", "r2"],
        "worker_count": 2,
        "columns": [],
    }
    assert (spelled.severity, spelled.evidence["workers"]) == ("info", ["r2"])
    assert quality_notes_of_several(traces, {"event_dropped"}, "worker") == ()


def test_of_a_thousand_recordings_a_few_are_named() -> None:
    cut = recorded("truncated")
    (note,) = quality_notes_of_several({f"r{n}": cut for n in range(1024)}, CUT_ISSUES, "worker")
    assert note.text.startswith("r0, r1, r2, r3, r4 and 1,019 more: ")
    assert note.evidence["workers"] == ["r0", "r1", "r2", "r3", "r4"]
    assert (note.evidence["worker_count"], note.evidence["count"]) == (1024, 1024)


def test_an_issue_may_mean_more_in_one_recording_than_in_another() -> None:
    traces = {"device": trace(ON_DEVICE), "host": trace(ON_HOST)}
    host, device = quality_notes_of_several(traces, {"overlapping_slices"}, "worker")
    assert (host.severity, host.evidence["workers"]) == ("warning", ["host"])
    assert (device.severity, device.evidence["workers"]) == ("info", ["device"])


@pytest.mark.parametrize("issue", sorted(ISSUE_TEXTS))
def test_what_is_cut_short_lacks_its_end(issue: str) -> None:
    assert is_cut_short(recorded(issue)) == (
        issue in ("truncated", "gzip_truncated", "gzip_corrupt")
    )
