"""Notes in an address: in order, bounded, and nothing of what is malformed."""

from __future__ import annotations

import pytest

from torch_tb_profiler.views.timeline.notes import (
    MAX_NOTE_CHARACTERS,
    MAX_NOTES,
    TimelineNote,
    parse_notes,
)


def test_notes_in_order_of_time() -> None:
    assert parse_notes("5000@17 why? 50 % @ 3\n1200 warm-up ends <b>") == [
        TimelineNote(1200, None, "warm-up ends <b>"),
        TimelineNote(5000, 17, "why? 50 % @ 3"),
    ]


@pytest.mark.parametrize(
    "text", ["", "nonsense", "12", "12 ", " text", "-5 text", "1.5 text", "7@x text", "٣ text"]
)
def test_what_is_malformed_is_no_note(text: str) -> None:
    assert parse_notes(text) == []


def test_many_and_long_ones_are_cut() -> None:
    assert len(parse_notes("1 x\n" * 1000)) == MAX_NOTES
    (note,) = parse_notes("1 a\tb" + "x" * 500)
    assert note.text == "a b" + "x" * (MAX_NOTE_CHARACTERS - 3)
