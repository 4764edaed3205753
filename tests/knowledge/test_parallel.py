"""Names of process groups of frameworks and the dimensions that they stand for."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import parallel

FILE = parallel.parallel_file()


@pytest.mark.parametrize("rule", FILE.rules, ids=lambda rule: rule.examples[0])
def test_a_rule_decides_its_examples(rule: parallel.NameRule) -> None:
    assert rule.examples
    assert (rule.dimension is None) == (rule.several is not None)
    for name in rule.examples:
        assert parallel.name_rule(name) is rule, name


@pytest.mark.parametrize(
    "name", ["default_pg", "0", "17", "undefined", "WORLD", "mesh_dim_0", "", "x" * 100_000]
)
def test_names_that_say_nothing(name: str) -> None:
    assert parallel.name_rule(name) is None


def test_orders_and_aliases_name_known_dimensions() -> None:
    short = set(FILE.names)
    assert set(FILE.names.values()) == set(parallel.DIMENSIONS)
    for order in FILE.orders:
        assert set(order.order) | {"ep"} == short
        assert len(set(order.order)) == len(order.order)
    assert set(FILE.aliases.values()) <= short
