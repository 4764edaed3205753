"""Cases: code that is Python; of a question; of a framework; of a recording; nothing of that
name."""

from __future__ import annotations

import ast
import re

import pytest

from tests.helpers.mcp_answers import Ask
from torch_tb_profiler.requests.errors import LoadingError

CODE = re.compile(r"```python\n(.*?)\n```", re.DOTALL)


def test_code_for_every_question_is_python(ask: Ask) -> None:
    text = ask("how_to_record")
    (code,) = CODE.findall(text)
    ast.parse(code)
    for option in ("record_shapes=True", "profile_memory=True", "with_stack=True"):
        assert option in code
    assert "torch-tb-profiler record" in text


def test_code_for_a_question_has_what_it_needs_alone(ask: Ask) -> None:
    (code,) = CODE.findall(ask("how_to_record", question="Where does memory go?"))
    assert "profile_memory=True" in code
    assert "with_stack" not in code
    assert CODE.findall(ask("how_to_record", question="memory")) == [code]


def test_words_that_name_nothing_do_not_choose_a_question(ask: Ask) -> None:
    whole = ask("how_to_record", question="Which options would record this?")
    assert "so that every question can be answered:" in whole
    assert CODE.findall(whole) == CODE.findall(ask("how_to_record"))
    memory = ask("how_to_record", question="the memory")
    # "Which" and "what" stand in questions of other subjects.
    longer = ask("how_to_record", question="Which options would record what memory does?")
    assert CODE.findall(longer) == CODE.findall(memory)


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        ("paddle", "paddle.profiler"),
        ("Nsight Systems", "nsys"),
        ("rocprofv3", "rocprofv3"),
        ("MindSpore", "mindspore"),
    ],
)
def test_frameworks(ask: Ask, framework: str, expected: str) -> None:
    assert expected in ask("how_to_record", framework=framework)


def test_what_a_recording_lacks(ask: Ask) -> None:
    text = ask("how_to_record", trace="h100_bert_small")
    assert text.startswith("Answers 14 of 19 questions;")
    assert "- Is data loading slow? The recording holds no data loading:" in text
    text = ask("how_to_record", trace="h100_bert_small", question="steady_steps")
    assert "Answered no:\n- Are the steps steady?" in text
    assert "Where does memory go?" not in text


def test_refusals(ask: Ask) -> None:
    with pytest.raises(LoadingError) as caught:
        ask("how_to_record", framework="padle")
    assert "Paddle" in str(caught.value.problem.hint)
    with pytest.raises(LoadingError):
        ask("how_to_record", question="xyzzy")


@pytest.mark.parametrize("name", ["nsys", "Nsight", "nsight systems"])
def test_a_recorder_by_its_command_or_a_part_of_its_name(ask: Ask, name: str) -> None:
    assert "nsys profile" in ask("how_to_record", framework=name, question="memory")


def test_a_recorder_that_the_question_names(ask: Ask) -> None:
    text = ask("how_to_record", question="How would I record a program with AMD's rocprofv3?")
    assert text.startswith("Record with rocprofv3 so that every question can be answered:")
    text = ask("how_to_record", question="Which option of nsys shows what CUDA graphs run?")
    assert text.startswith("Record with Nsight Systems to answer: What do CUDA graphs run?:")
    assert "--cuda-graph-trace=node" in text
