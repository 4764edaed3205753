"""Quality issues become notes, the serious ones first."""

from __future__ import annotations

from tests.helpers.traces import op, trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.quality_notes import HARMLESS, LINK_ISSUES, quality_notes


def test_every_listed_issue_exists() -> None:
    assert set(ISSUE_TEXTS) >= HARMLESS | LINK_ISSUES


def test_notes_say_what_happened_how_often_and_where() -> None:
    recorded = trace([op("aten::mm", 0, 5)])
    recorded.quality.add("trailing_comma", 2)
    recorded.quality.add("event_dropped", 3, "byte 17: <img onerror=x>")
    notes = {note.code: note for note in quality_notes(recorded)}
    assert quality_notes(recorded)[0].severity == "warning"
    dropped = notes["event_dropped"]
    assert dropped.kind == "quality"
    assert dropped.text == ISSUE_TEXTS["event_dropped"]
    assert dropped.evidence == {"count": 3, "examples": ["byte 17: <img onerror=x>"]}
    assert notes["trailing_comma"].severity == "info"
    only = quality_notes(recorded, {"trailing_comma"})
    assert [note.code for note in only] == ["trailing_comma"]
