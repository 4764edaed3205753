"""Cases: who asks again keeps its turn; an answered or abandoned question is needed no more; what
an older question needs comes before what a younger one does, but not what it does without.
"""

from __future__ import annotations

import pytest

from torch_tb_profiler.loading.store import questions as questions_module
from torch_tb_profiler.loading.store.entries import Key
from torch_tb_profiler.loading.store.questions import Questions

A: Key = ("a", "trace")
B: Key = ("b", "trace")
SMALL_C: Key = ("c", "summary")


def test_who_asks_again_keeps_its_turn() -> None:
    questions = Questions()
    first = questions.ask([A])
    second = questions.ask([B, A])
    assert questions.ask([A]) is first
    assert list(questions) == [first, second]
    questions.answered(first)
    assert list(questions) == [second]
    questions.answered(first)  # by two threads that asked the same
    assert questions.ask([A]) is not first


def test_the_oldest_question_decides_what_is_needed_most() -> None:
    questions = Questions()
    questions.ask([A, SMALL_C])
    younger = questions.ask([B, A])
    assert questions.ranks() == {A: 0, SMALL_C: 0, B: 1}
    younger.left_out.add(B)
    assert B not in questions.ranks()


def test_a_question_nobody_repeats_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = Questions()
    questions.ask([A])
    monkeypatch.setattr(questions_module, "ABANDONED_S", -1.0)
    assert list(questions) == []
    assert questions.ranks() == {}
