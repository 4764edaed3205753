"""Every rule of operator types against its own examples, and names of real recordings."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.many_names import MANY_NAMES
from torch_tb_profiler.knowledge.operator_types import (
    TYPES,
    TypeRule,
    matching_type_rule,
    operator_type,
    operator_types,
    simplify,
    type_file,
)

RULES = type_file().rules


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_examples(rule: TypeRule) -> None:
    assert rule.type in TYPES
    assert rule.examples
    for name in rule.examples:
        hit = matching_type_rule(name)
        assert hit is rule, (name, simplify(name), hit)
    for name in rule.counter_examples:
        assert matching_type_rule(name) is not rule, name


def test_names_of_rules_and_all_types() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.type for rule in RULES} == set(TYPES)


UNKNOWN = ("my::custom_op", "CompiledFunction", "Torch-Compiled Region: 0/1", "ProfilerStep#4", "_")


@pytest.mark.parametrize("name", ["", *UNKNOWN])
def test_unknown(name: str) -> None:
    assert operator_type(name) is None


SDPA = "scaled_dot_product_flash_attention"
NODE = "autograd::engine::evaluate_function: "


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("aten::_scaled_dot_product_flash_attention_backward", SDPA),
        (f"{NODE}MaxPool2DWithIndicesBackward0", "max_pool2d_with_indices"),
        ("torch::autograd::CppNode<SplitLookup_Dense_Op>", "split_lookup_dense_op"),
        ("Global_Conv2dGradNodeFinal[12.5 us]", "conv2d"),
        ("aten::add_.Tensor", "add"),
        ("cross_entropy_with_softmax dygraph[3 ms]", "cross_entropy_with_softmax"),
    ],
)
def test_simplified(name: str, plain: str) -> None:
    assert simplify(name) == plain


def test_hostile_names_end() -> None:
    names = ("triton_poi_fused" + "_copy_" * 900 + "x", "a::" * 900, "_" * 5000, "[" * 5000)
    assert [operator_type(name) for name in names] == ["elementwise", None, None, None]


def test_all_at_once_says_the_same_as_one_by_one() -> None:
    examples = [name for rule in RULES for name in (*rule.examples, *rule.counter_examples)]
    names = [
        *examples,
        *(f"{first}{second}" for first, second in zip(examples, examples[7:], strict=False)),
        *(f"{name}\n" for name in examples),
        *(f"custom::{name.rpartition('::')[2]}a" for name in examples),
        *UNKNOWN,
        "",
        "my::\u4e2d\u6587_gemma<\u00e9>",
    ]
    names += [f"custom::operator_{number}" for number in range(MANY_NAMES)]
    assert operator_types(names) == [operator_type(name) for name in names]
    assert operator_types([]) == []
