"""The questions for agents: their answers are those of the files, and what counts as an answer."""

from __future__ import annotations

import pytest

from bench.agent.model import Question, questions
from bench.agent.truths import FOLDERS, answer_of
from bench.agent.walking import MOST_CALLS, has_answer

QUESTIONS = {each.id: each for each in questions()}


def test_there_are_sixty_of_different_kinds() -> None:
    assert len(QUESTIONS) == len(questions()) >= 60
    assert {each.folder for each in questions()} == set(FOLDERS)
    assert all(1 <= len(each.walk) <= MOST_CALLS for each in questions())


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_the_answer_is_that_of_the_file(question: Question) -> None:
    if not FOLDERS[question.folder].is_dir():
        pytest.skip(f"{FOLDERS[question.folder]} is not here")
    truth = answer_of(question.folder, question.truth)
    if isinstance(question.answer, str):
        assert truth is None or question.answer in str(truth)
    elif truth is not None:
        assert truth == pytest.approx(question.answer, rel=0.5 * 10.0 ** (1 - question.digits))


def test_numbers_count_to_their_digits_in_the_line_of_the_answer() -> None:
    question = Question("x", "samples", "?", 1155.77, {}, [], "us", 6, "linear")
    assert has_answer(question, "aten::linear\t26\t1,155.77")
    assert has_answer(question, "aten::linear\t26\t1155.7702")
    assert not has_answer(question, "aten::linear\t26\t1,155.8")
    assert not has_answer(question, "aten::addmm\t26\t1,155.77")
    assert not has_answer(question, "aten::linear\t26\t11,155.77")


def test_words_are_looked_for_in_the_line_of_the_answer() -> None:
    question = Question("x", "samples", "?", "half", {}, [], line="group")
    assert has_answer(question, "group: half")
    assert not has_answer(question, "group: all\nhalf")
