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


@pytest.mark.parametrize("rule", FILE.passes, ids=lambda rule: rule.examples[0])
def test_ranges_of_passes(rule: parallel.PassRule) -> None:
    for name in rule.examples:
        known = parallel.pass_name(name)
        assert known is not None
        assert known.kind == rule.kind


def test_ranges_say_stage_and_microbatch_where_they_do() -> None:
    assert parallel.pass_name("PP:2W11") == parallel.PassName("weight", 2, 11)
    assert parallel.pass_name("Forward 3") == parallel.PassName("forward", None, 3)
    assert parallel.pass_name("forward_step") == parallel.PassName("forward", None, None)
    assert parallel.pass_name("PP:0" + "9" * 100_000) is None
    assert parallel.pass_name("Forward " + "9" * 50) == parallel.PassName("forward", None, None)
    assert parallel.pass_name("ForwardPass") is None


@pytest.mark.parametrize(
    ("schedule", "stages", "microbatches", "chunks", "share"),
    [
        ("GPipe", 4, 4, 1, 3 / 7),
        ("1F1B", 4, 8, 1, 3 / 11),
        ("interleaved 1F1B", 4, 8, 2, 3 / 19),
        ("zero bubble", 4, 8, 1, None),
        ("other", 4, 8, 1, None),
        ("1F1B", 1, 8, 1, 0),
        ("1F1B", 4, 0, 1, None),
    ],
)
def test_the_bubble_that_a_schedule_cannot_avoid(
    schedule: str, stages: int, microbatches: int, chunks: int, share: float | None
) -> None:
    assert parallel.minimum_bubble(schedule, stages, microbatches, chunks) == share
