"""Quality issues become notes, the serious ones first."""

from __future__ import annotations

from tests.helpers.traces import op, trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.quality_notes import (
    HARMLESS,
    ISSUE_COLUMNS,
    LINK_ISSUES,
    quality_notes,
)
from torch_tb_profiler.views.registry import all_views


def test_every_listed_issue_exists() -> None:
    assert set(ISSUE_TEXTS) >= HARMLESS | LINK_ISSUES | set(ISSUE_COLUMNS)


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
