"""Damage of a recording is told before all advice.

Cases: files of the corpus that are cut or hold false times, whole ones and harmlessly repaired
ones; several damages in one sentence each; a run with a rank left out; notes that are no damage.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.scenes import load
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.evidence.damage import damage_notes
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.loading.queries.views import run_view, trace_view
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.schema import Note

EVENT = '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":%d,"dur":%s,"args":{}}'
WHOLE = '{"schemaVersion":1,"traceEvents":[' + EVENT % (1, 10) + "," + EVENT % (20, 10) + "]}"
CUT = WHOLE[:-30]


def read(text: str) -> Trace:
    return build_trace(read_text([text.encode()], name="w.pt.trace.json"))


def advice_on(text: str) -> list[Note]:
    view = trace_view(view_named("overview"), read(text), Selection())
    return [note for note in view.notes if note.kind == "advice"]


def test_a_cut_file_is_the_first_finding() -> None:
    first = advice_on(CUT)[0]
    assert (first.code, first.severity) == ("damaged_recording", "warning")
    assert first.text.startswith("The file ends in the middle; everything before the cut was read.")
    assert first.evidence["title"] == "Damaged recording"
    assert first.evidence["estimated_gain_us_per_step"] is None


def test_it_stays_a_note_on_quality_too() -> None:
    view = trace_view(view_named("overview"), read(CUT), Selection())
    assert next(note.code for note in view.notes if note.kind == "quality") == "truncated"


@pytest.mark.parametrize("text", [WHOLE, WHOLE.replace("]}", ",]}"), WHOLE + WHOLE])
def test_a_whole_or_harmlessly_repaired_file_has_no_damage(text: str) -> None:
    assert all(not note.code.startswith("damaged") for note in advice_on(text))


def test_wrong_times_are_reported_with_their_number() -> None:
    (note,) = (
        note
        for note in advice_on(WHOLE.replace('"dur":10', '"dur":-5'))
        if note.code.startswith("damaged")
    )
    assert note.code == "damaged_times"
    assert "Negative durations were set to 0 (2 times)." in note.text


def quality(code: str, text: str, **evidence: object) -> Note:
    return Note("quality", code, "warning", text, dict(evidence))


def test_one_note_per_consequence_with_a_row_per_damage() -> None:
    notes = damage_notes(
        [
            quality("truncated", "Cut.", count=1, examples=["at byte 7"]),
            quality("overlapping_slices", "Overlap.", count=3),
            quality("event_dropped", "Dropped.", count=1200),
            quality("negative_duration", "Negative.", count=2),
            Note("advice", "truncated", "warning", "No note on quality."),
        ]
    )
    assert [note.code for note in notes] == ["damaged_recording", "damaged_times"]
    assert notes[0].text.startswith("Cut. Dropped (1,200 times). ")
    assert notes[0].evidence["rows"] == [
        {"issue": "Cut.", "count": 1, "example": "at byte 7"},
        {"issue": "Dropped.", "count": 1200, "example": None},
    ]


def test_texts_of_the_file_are_no_formats() -> None:
    (note,) = damage_notes([quality("worker_left_out", "Worker {0} {x} is left out.")])
    assert note.text == "Worker {0} {x} is left out."


def test_a_run_with_a_rank_left_out_says_so_first(samples: Path) -> None:
    paths = sorted((samples / "cpu_ddp4_gloo").glob("*.gz"))[:2]
    traces = {path.name: load(path) for path in paths}
    left_out = quality("worker_left_out", "Worker rank2 is left out: broken.", worker="rank2")
    view = run_view(view_named("distributed"), traces, Selection(), (left_out,))
    assert view.notes[0] == left_out
    first = next(note for note in view.notes if note.kind == "advice")
    assert first.code == "incomplete_run"
    assert "2 of 4 ranks are loaded" in first.text
    assert "Worker rank2 is left out: broken." in first.text


def test_a_large_share_that_is_left_out_is_the_first_note_and_the_first_finding() -> None:
    trace = read(WHOLE)
    trace.quality.add("truncated")
    trace.quality.add_left_out(277_906, 290_433)
    view = trace_view(view_named("overview"), trace, Selection())
    text = "95.7 % of the file's events (277,906 of 290,433) were left out: "
    first = [
        next(note for note in view.notes if note.kind == kind) for kind in ("quality", "advice")
    ]
    assert [note.code for note in first] == ["events_left_out"] * 2
    assert [note.severity for note in first] == ["warning"] * 2
    assert first[0].text == text + "all numbers cover only the rest."
    assert first[1].text == first[0].text + " The other notes say why."


def test_a_small_share_that_is_left_out_is_not() -> None:
    trace = read(WHOLE)
    trace.quality.add_left_out(3, 100)
    assert "events_left_out" not in trace.quality.counts
