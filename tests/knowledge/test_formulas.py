"""formulas.toml: every entry is sound, and gives the figures that were counted by hand.

Cases: each example's FLOPs, bytes and masked part; names stand once; kinds and rules exist; what is
damaged is unknown and never an error.
"""

from __future__ import annotations

from collections import Counter

import pytest

from torch_tb_profiler.analysis.efficiency.work.operands import read_operands
from torch_tb_profiler.analysis.efficiency.work.result import UnknownWorkError
from torch_tb_profiler.analysis.efficiency.work.rules import RULES, work_of_texts
from torch_tb_profiler.knowledge.dtypes import canonical
from torch_tb_profiler.knowledge.formulas import (
    KINDS,
    Example,
    Formula,
    formula_file,
    formula_index,
    formulas,
    is_inplace,
    scalar_type,
)

EXAMPLES = [(formula, example) for formula in formulas() for example in formula.examples]


@pytest.mark.parametrize(
    ("formula", "example"), EXAMPLES, ids=[f"{f.name}-{e.operator}" for f, e in EXAMPLES]
)
def test_each_example_has_the_figures_counted_by_hand(formula: Formula, example: Example) -> None:
    index = formula_index(example.operator)
    assert formulas()[index] is formula
    work = work_of_texts(index, example.operator, example.shapes, example.types, example.concrete)
    assert (work.flops, work.bytes, work.uncomputed) == (
        example.flops,
        example.bytes,
        example.uncomputed,
    )


def test_each_operator_has_one_formula_of_a_known_kind_and_rule() -> None:
    names = Counter(name for formula in formulas() for name in formula.operators)
    assert [name for name, count in names.items() if count > 1] == []
    assert {formula.kind for formula in formulas()} <= set(KINDS)
    assert {formula.rule for formula in formulas()} == set(RULES)
    assert len({formula.name for formula in formulas()}) == len(formulas())
    assert all(formula.source and formula.counts for formula in formulas())


def test_types_by_number_are_element_types() -> None:
    numbers = formula_file().scalar_types
    assert all(canonical(name) == name for name in numbers.values())
    assert (scalar_type("15"), scalar_type("x")) == ("bfloat16", None)


def test_an_inplace_operator_has_the_formula_of_the_other() -> None:
    assert formula_index("aten::addmm_") == formula_index("aten::addmm") >= 0
    assert formula_index("aten::nobody_knows_this") == -1
    assert [is_inplace(name) for name in ("aten::add_", "aten::add", "aten::__and__")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "shapes",
    [
        "",
        "[",
        "{}",
        "7",
        "[[1, 2], [3",
        "[[-1, 2], [2, 3]]",
        "[[1.5, 2], [2, 3]]",
        "[['a'], [2]]",
        "[[9007199254740993, 9007199254740993], [1, 1]]",
        "[" * 100_000,
        "[null, null]",
    ],
)
def test_damaged_texts_are_unknown(shapes: str) -> None:
    with pytest.raises(UnknownWorkError):
        read_operands(shapes, "['float', 'float']", None)


@pytest.mark.parametrize("formula", formulas(), ids=lambda formula: formula.name)
def test_inputs_that_do_not_fit_are_unknown_and_no_error(formula: Formula) -> None:
    index = formulas().index(formula)
    for shapes in ("[]", "[[]]", "[[], [], []]", "[[0], [0], [0]]", "[[3, 4]]", "[[[2], [3]]]"):
        work_of_texts(index, formula.name, shapes, None, None)
    for example in formula.examples:
        work_of_texts(index, example.operator, example.shapes, None, None)
        work_of_texts(index, example.operator, example.shapes, "['x', 'y']", "['?', '[', '']")
        work_of_texts(index, example.operator, "[[1]]", example.types, example.concrete)
