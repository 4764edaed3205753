"""Cases: nothing is cut that fits; what does not fit is named; never above the size, whatever the
characters; texts of recordings stay on one line."""

from __future__ import annotations

import pytest

from torch_tb_profiler.mcp.answer_text import MAX_BYTES, AnswerText, quoted


def test_what_fits_is_whole() -> None:
    answer = AnswerText(1_000)
    assert answer.add("first")
    assert answer.add_lines(["head"], ["a", "b"]) == 2
    assert answer.text() == "first\nhead\na\nb"


def test_lines_that_do_not_fit_are_counted_and_named() -> None:
    answer = AnswerText(1_000)
    assert answer.add_lines(["head"], ["x" * 99] * 9) == 4  # 500 bytes are for what is left out
    answer.note_cut("rows 5 to 9; ask with offset=4")
    text = answer.text()
    assert text.count("x" * 99) == 4
    assert text.endswith("Left out: rows 5 to 9; ask with offset=4.")


def test_room_is_reserved_for_what_stands_below() -> None:
    answer = AnswerText(1_000)
    below = "y" * 150
    assert answer.add_lines(["head"], ["x" * 99] * 9, [below]) == 3
    assert answer.add(below)
    answer = AnswerText(1_000)
    assert answer.add_lines([], ["x" * 99] * 9, ["y" * 5_000]) == 3  # a third of the room


def test_a_head_without_a_line_is_left_out() -> None:
    answer = AnswerText(1_000)
    assert answer.add_lines(["head"], ["x" * 1_000]) == 0
    assert answer.text() == ""


@pytest.mark.parametrize("character", ["x", "é", "漢", "😀", "\ud800"])
@pytest.mark.parametrize("size", [1_000, MAX_BYTES])
def test_never_above_the_size(character: str, size: int) -> None:
    answer = AnswerText(size)
    answer.add(character * 100_000)
    answer.add_lines([character * 10], [character * 300] * 1_000)
    for number in range(1_000):
        answer.note_cut(f"{number} {character * 100}")
    assert len(answer.text().encode()) <= size
    assert "Left out" in answer.text()


def test_texts_of_recordings_are_short_and_on_one_line() -> None:
    assert quoted("a\nb\tc\x1b[31m\u202e") == "a\\nb\\tc\\x1b[31m\\u202e"
    long = quoted("a" * 1_000_000 + "z")
    assert len(long) == 160
    assert long.startswith("aaa")
    assert long.endswith("az")
