"""Rules of a user: what they say of names, and what is told of mistakes in their file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.knowledge.kernels import classify, kernel_file
from torch_tb_profiler.knowledge.user_rules import (
    NO_RULES,
    RulesError,
    UserRules,
    kind_by_user,
    parse_user_rules,
)

EXAMPLE = b"""
# what our own kernels are
[[kernel]]
match = "lab::exchange"
category = "communication"

[[kernel]]
match = 'lab::grouped_gemm<'
category = "gemm"
tensor-core = true
dtype = "bf16"

[[kernel]]
pattern = '^lab_(fwd|bwd)$'
category = "elementwise"

[[kernel]]
match = "lab"
category = "gemm"
"""


def parsed(text: bytes) -> UserRules:
    return parse_user_rules(text, "rules.toml")


def verdict(name: str) -> tuple[object, ...] | None:
    kind = kind_by_user(parsed(EXAMPLE), name)
    if kind is None:
        return None
    return (kind.kind, kind.communication, kind.tensor_core, kind.dtype, kind.by_user)


def test_the_first_rule_whose_text_a_name_contains_counts() -> None:
    assert verdict("void lab::exchange<8>(int*)") == ("communication", True, False, None, True)
    assert verdict("void lab::grouped_gemm<8>()") == ("gemm", False, True, "bfloat16", True)
    assert verdict("lab::other()") == ("gemm", False, None, None, True)
    assert verdict("LAB::EXCHANGE") is None
    assert kind_by_user(NO_RULES, "lab::exchange") is None


def test_a_pattern_is_searched_as_a_regular_expression() -> None:
    assert verdict("lab_fwd") == ("elementwise", False, False, None, True)
    assert verdict("lab_fwd2") == ("gemm", False, None, None, True)


def test_a_mangled_name_is_matched_as_recorded_and_demangled() -> None:
    mangled = "_ZN3lab8exchangeILi8EEEvPi"  # by c++filt: void lab::exchange<8>(int*)
    assert verdict(mangled) == ("communication", True, False, None, True)
    rules = parsed(b'[[kernel]]\nmatch = "3lab8exchange"\ncategory = "sort"\n')
    kind = kind_by_user(rules, mangled)
    assert kind is not None
    assert kind.kind == "sort"


def test_a_rule_of_a_user_comes_before_ours() -> None:
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    assert classify(name).communication
    kind = kind_by_user(parsed(b'[[kernel]]\nmatch = "nccl"\ncategory = "auxiliary"'), name)
    assert kind is not None
    assert (kind.kind, kind.communication) == ("auxiliary", False)


def test_the_digest_follows_the_rules_and_nothing_else() -> None:
    commented = EXAMPLE.replace(b"# what our own kernels are", b"# other words")
    assert parsed(EXAMPLE).digest == parse_user_rules(commented, "elsewhere.toml").digest
    assert parsed(EXAMPLE).digest != parsed(EXAMPLE.replace(b"bf16", b"fp16")).digest
    assert NO_RULES.digest == NO_RULES.version == ""
    assert UserRules("rules.toml", problem="bad").version


def test_a_file_may_be_empty_and_begin_with_a_byte_order_mark() -> None:
    assert parsed(b"").rules == ()
    assert len(parsed(b"\xef\xbb\xbf" + EXAMPLE).rules) == 4


HEAD = "[[kernel]]\n"


@pytest.mark.parametrize(
    ("text", "line", "cause", "hint"),
    [
        (HEAD + 'match = "a"\ncategory = ""', 3, "the category is empty", "gemm"),
        (HEAD + 'match = "a"', 1, "the category is empty", "gemm"),
        (HEAD + 'match = "a"\ncategory = "gem"', 3, "no category 'gem'", "gemm"),
        (HEAD + 'category = "gemm"', 1, "neither match nor pattern", "match ="),
        (HEAD + 'match = ""\ncategory = "gemm"', 1, "neither match nor pattern", "match ="),
        (HEAD + 'match = "a"\npattern = "b"\ncategory = "gemm"', 1, "match and pattern", "one"),
        (HEAD + 'pattern = "(a"\ncategory = "gemm"', 2, "no regular expression", "match"),
        (HEAD + 'match = "a"\nkind = "gemm"', 3, "unknown key 'kind'", "category"),
        (HEAD + 'match = 1\ncategory = "gemm"', 2, "match is no text", "quotes"),
        (
            HEAD + 'match = "a"\ncategory = "gemm"\ntensor-core = "yes"',
            4,
            "no true or false",
            "true",
        ),
        (
            HEAD + 'match = "a"\ncategory = "gemm"\ntensor_core = true',
            4,
            "tensor_core",
            "tensor-core",
        ),
        (HEAD + 'match = "a"\ncategory = "gemm"\ndtype = "money"', 4, "'money' is no", "float16"),
        (
            HEAD + 'match = "a"\ncategory = "communication"\ntensor-core = true',
            4,
            "communication with tensor-core",
            "Remove",
        ),
        ('[kernel]\nmatch = "a"\ncategory = "gemm"', 1, "no list of rules", "[[kernel]]"),
        ('[[rules]]\nmatch = "a"\ncategory = "gemm"', 1, "unknown key 'rules'", "[[kernel]]"),
        (
            HEAD + 'match = "a"\ncategory = "gemm"\n\n# 2\n' + HEAD + 'match = "b"\ncategory = "x"',
            8,
            "no category 'x'",
            "gemm",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_next_step(
    text: str, line: int, cause: str, hint: str
) -> None:
    with pytest.raises(RulesError) as caught:
        parsed(text.encode())
    assert caught.value.message.startswith(f"rules.toml, line {line}: ")
    assert cause in caught.value.message
    assert hint in caught.value.hint


NO_TOML = [
    b"[[kernel]]\nmatch = a",
    b"\xff",
    b"[[kernel",
    b"\0",
    b"a = " + b"[" * 9999,
    b"a = " + b"1" * 9999,
]


@pytest.mark.parametrize("text", NO_TOML, ids=range(len(NO_TOML)))
def test_what_is_no_toml_is_said_to_be_none(text: bytes) -> None:
    with pytest.raises(RulesError, match="is no TOML"):
        parsed(text)


def test_the_documentation_lists_the_categories() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    (row,) = (line for line in page.read_text().splitlines() if line.startswith("| `category`"))
    assert re.findall(r"`(\w+)`", row)[1:] == list(kernel_file().kinds)


_KEYS = ["match", "pattern", "category", "tensor-core", "dtype", "kernel", "[[kernel]]\n"]
_VALUES = ['"gemm"', "'(a'", '""', "true", "1", "[]", "{}", '"a{99999999999}"', '"\u202e"']
_WORDS = [*_KEYS, *_VALUES, " = ", "\n", "#", "."]


@given(st.lists(st.sampled_from(_WORDS)).map("".join) | st.binary())
def test_whatever_a_file_holds_there_are_rules_or_an_error_for_people(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    try:
        rules = parsed(data)
    except RulesError as error:
        message, hint = error.message, error.hint
    else:
        assert all(rule.category and (rule.match or rule.pattern) for rule in rules.rules)
        kind_by_user(rules, "void a(int)")
        return
    assert message.startswith("rules.toml")
    assert hint
