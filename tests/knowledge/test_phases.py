"""Names that tell phases and windows: every rule takes its examples, and none of the others."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.phases import (
    RangeRule,
    ServingWindow,
    category_rule,
    hooked_module,
    is_beyond_model,
    phase_of_words,
    phases_file,
    range_rule,
    server_of_code,
    serving_window,
)


@pytest.mark.parametrize("rule", [r for r in phases_file().ranges if r.pattern is not None])
def test_a_rule_takes_its_examples_and_no_other(rule: RangeRule) -> None:
    assert rule.examples
    assert rule.counter_examples
    for name in rule.examples:
        assert range_rule(name) == rule, name
    for name in rule.counter_examples:
        assert not re.fullmatch(rule.pattern or "", name), name


def test_words_of_a_name_give_its_phase() -> None:
    for entry in phases_file().words.phrases:
        for name in entry.examples:
            assert phase_of_words(name) == entry.phase, name
        for name in entry.counter_examples:
            assert phase_of_words(name) is None, name
    assert phase_of_words("x" * 100_000) is None


def test_categories_of_a_framework_define_whole_phases() -> None:
    forward, backward = category_rule("Forward"), category_rule("Backward")
    assert forward is not None
    assert backward is not None
    assert (forward.phase, forward.whole) == ("forward", True)
    assert (backward.phase, backward.whole) == ("backward", True)
    assert category_rule("user_annotation") is None


def test_modules_outside_the_model() -> None:
    rule = phases_file().outside_model
    assert all(is_beyond_model(name) for name in rule.examples)
    assert not any(is_beyond_model(name) for name in rule.counter_examples)


def test_every_window_rule_takes_its_examples() -> None:
    for rule in phases_file().windows:
        for name in rule.examples:
            assert re.fullmatch(rule.pattern, name), name
        for name in rule.counter_examples:
            assert serving_window(name) is None, name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("execute_context_3(1024)_generation_2(2)", ("mixed", 5, 1026, 3, 1024, 2, 2)),
        ("execute_context_0(0)_generation_64(64)", ("decode", 64, 64, 0, 0, 64, 64)),
        ("execute_context_4(4096)_generation_0(0)", ("prefill", 4, 4096, 4, 4096, 0, 0)),
        (
            "execute_517_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq2sk300sqsq1sqsk1)",
            ("mixed", 5, 130, 3, 128, 2, 2),
        ),
        ("execute_1_context_3(sq128sk256)", ("prefill", 3, 128, 3, 128, None, None)),
        ("execute_new_0_cached_5", ("decode", 5, None, 0, None, 5, None)),
        ("step[EXTEND bs=15 toks=15360]", ("prefill", 15, 15360, 15, 15360, None, None)),
        ("step[DECODE bs=63]", ("decode", 63, None, None, None, 63, None)),
        ("step[MIXED bs=8 ext=512 dec=7]", ("mixed", 8, 519, None, 512, None, 7)),
        ("step[TARGET_VERIFY bs=4]", ("decode", 4, None, None, None, 4, None)),
    ],
)
def test_windows_have_requests_and_tokens(name: str, expected: tuple[object, ...]) -> None:
    serving = serving_window(name)
    assert serving == ServingWindow(serving.server if serving else "", *expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["step[idle]", "execute_context_0(0)_generation_0(0)", "step[1"])
def test_a_window_that_works_on_nothing_is_none(name: str) -> None:
    assert serving_window(name) is None


def test_every_server_takes_its_examples() -> None:
    for rule in phases_file().servers:
        assert {server_of_code(name) for name in rule.examples} == {rule.name}
        assert {server_of_code(name) for name in rule.counter_examples} == {None}


def test_hooks_take_their_examples_and_no_other() -> None:
    for rule in phases_file().hooks:
        assert all(hooked_module(name) is not None for name in rule.examples)
        assert not any(hooked_module(name) is not None for name in rule.counter_examples)
    before, behind = hooked_module("FSDP::pre_forward (a)"), hooked_module("FSDP::post_forward (a)")
    assert before is not None
    assert behind is not None
    assert (before.module, before.is_behind, behind.is_behind) == (" (a)", False, True)
