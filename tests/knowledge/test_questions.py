"""Every question has an answer somewhere: views, tables and columns exist, and so do recordings."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.questions import AnswerSource, Question, question_file
from torch_tb_profiler.knowledge.recorders import recorders
from torch_tb_profiler.trace.info import CAPABILITIES
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.registry import all_views

QUESTIONS = question_file().questions
OTHER_RECORDINGS = {"memory_history", "collective_dumps"}
"""What is recorded by other means than a capability of a trace."""

FACTS = {"iterations.iteration_variation_pct", "overview.steps_per_s"}
"""Facts are declared nowhere; ``test_coverage`` finds these in a recording."""


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.code)
def test_what_answers_a_question_exists(question: Question) -> None:
    for part in question.parts:
        for text, source in zip(part.sources, part.parsed_sources(), strict=True):
            spec = all_views()[source.view]
            if source.table is None:
                assert text in FACTS
                continue
            table = next(each for each in spec.tables if each.name == source.table)
            column = next(each for each in table.columns if each.key == source.key)
            assert source.group_by is None or source.group_by in spec.group_bys
            if column.only_grouped is not None:
                assert source.group_by == column.only_grouped.group_by


def test_what_is_recorded_is_a_capability_or_another_recording() -> None:
    for question in QUESTIONS:
        assert set(question.records) <= {*CAPABILITIES, *OTHER_RECORDINGS}, question.code
        assert question.records or question.instead, question.code
    recorded = {
        name
        for recorder in recorders().values()
        if recorder.recipe is not None
        for option in recorder.recipe.options
        for name in option.records
    }
    assert {name for question in QUESTIONS for name in question.records} <= recorded


def test_questions_read_as_questions_and_stand_once() -> None:
    assert len({each.code for each in QUESTIONS}) == len(QUESTIONS)
    assert len({each.text for each in QUESTIONS}) == len(QUESTIONS)
    assert all(each.text.endswith("?") and len(each.text) <= 45 for each in QUESTIONS)
    assert set(question_file().issues) <= set(ISSUE_TEXTS)


def test_general_words_hide_no_subject() -> None:
    subjects = {
        word
        for each in QUESTIONS
        for name in (each.topic, *each.records)
        for word in re.findall(r"[a-z]+", name.lower())
    }
    general = question_file().general_words
    assert {"which", "with"} <= general
    assert not general & subjects
    assert all(re.fullmatch("[a-z]{4,}", word) for word in general)


def test_a_source_names_a_column_or_a_fact() -> None:
    parts = {
        text: source
        for each in QUESTIONS
        for part in each.parts
        for text, source in zip(part.sources, part.parsed_sources(), strict=True)
    }
    assert parts["operators.operators.call_stack@name+call_stack"] == AnswerSource(
        "operators", "operators", "call_stack", "name+call_stack"
    )
    assert parts["iterations.iteration_variation_pct"] == AnswerSource(
        "iterations", None, "iteration_variation_pct"
    )
