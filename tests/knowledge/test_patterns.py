"""Patterns of rules: what every match contains, against the matches themselves.

Texts that match are made by hypothesis, which reads an expression on its own; the names of the
examples and of the kernels of the tests are matched with and without the shortcut.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torch_tb_profiler.knowledge import kernels, operator_types, operators
from torch_tb_profiler.knowledge.files import load_patterns
from torch_tb_profiler.knowledge.patterns import RulePattern, needed_texts

FILES = ("kernels.toml", "operator_types.toml", "operators.toml")
PATTERNS = {text: each for name in FILES for text, each in load_patterns(name).items()}
EXAMPLES = (
    *((rule.examples, rule.counter_examples) for rule in kernels.kernel_file().rules),
    *((rule.examples, rule.counter_examples) for rule in operator_types.type_file().rules),
    *((rule.examples, rule.counter_examples) for rule in operators.operator_file().rules),
)
NAMES = sorted({name for both in EXAMPLES for names in both for name in names})


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        ("ab+c", [[("ab",), ("c",)]]),
        ("xab?c", [[("xa",), ("c",)]]),
        ("ab{2}", [[("a",)]]),
        ("(ab|cd)?xy", [[("xy",)]]),
        ("(ab|cd)+x", [[("ab", "cd"), ("x",)]]),
        ("(ab|)z", [[("z",)]]),
        ("(a(bc|d)|efg)*h", [[("h",)]]),
        ("(?:abc)d|^[ab]efg$", [[("abc",), ("d",)], [("aefg", "befg")]]),
        ("[sS]oft_?[mM]ax", [[("soft", "Soft"), ("max", "Max")]]),
        ("x[aA]?y[a-c]zz", [[("zz",), ("x",), ("y",)]]),
        (r"\[CUDA \w+\]x\.y", [[("[CUDA ",), ("]x.y",)]]),
        (r"(?<!Warp)(AllReduce|Red)x", [[("AllReduce", "Red"), ("x",)]]),
        ("[)|(]ab|c", [[("ab",)], [("c",)]]),
        ("a|", None),
        (r"\w+", None),
        ("(?i)abc", None),
        (r"(?P<name>abc)", None),
        ("", None),
    ],
)
def test_texts_that_every_match_contains(
    pattern: str, needs: list[list[tuple[str, ...]]] | None
) -> None:
    assert needed_texts(pattern) == (None if needs is None else tuple(map(tuple, needs)))
    re.compile(pattern)


@given(st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_matches_contains_them(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(sorted(PATTERNS)))
    text = data.draw(st.from_regex(pattern))
    needs = needed_texts(pattern)
    assert needs is None or any(
        all(any(each in text for each in texts) for texts in alternative) for alternative in needs
    )
    assert PATTERNS[pattern].search(text) is not None


def test_names_match_as_without_the_shortcut() -> None:
    for text, pattern in PATTERNS.items():
        plain = re.compile(text)
        for name in NAMES:
            assert (pattern.search(name) is None) == (plain.search(name) is None), (text, name)
            assert (pattern.fullmatch(name) is None) == (plain.fullmatch(name) is None)


def test_a_pattern_is_compiled_for_what_it_may_match_alone() -> None:
    pattern = RulePattern("(radix|merge)_?[sS]ort", needed_texts("(radix|merge)_?[sS]ort"))
    assert pattern.search("elementwise_kernel") is None
    assert "compiled" not in vars(pattern)
    assert pattern.search("radixSort") is not None
    assert "compiled" in vars(pattern)
    assert RulePattern(r"\d+", None).fullmatch("12") is not None


def test_most_patterns_need_a_text() -> None:
    needed = [needed_texts(text) for text in PATTERNS]
    assert sum(texts is not None for texts in needed) > 0.9 * len(needed)
