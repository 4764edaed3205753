"""Ranks that behave alike."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.patterns import rank_patterns


def measures(**columns: list[float | None]) -> pl.DataFrame:
    count = len(next(iter(columns.values())))
    return pl.DataFrame({"worker": range(count), "step_ns": [1000.0] * count, **columns})


def test_alike_up_to_noise() -> None:
    noise = np.random.default_rng(2)
    pattern, differences = rank_patterns(measures(forward_ns=noise.normal(400, 30, 1024).tolist()))
    assert pattern.to_list() == [1] * 1024
    assert differences.is_empty()


def test_groups_of_any_size_are_told_from_noise() -> None:
    noise = np.random.default_rng(3)
    values = noise.normal(400, 5, 1024)
    values[100:108] += 200
    values[512:] -= 150
    pattern, differences = rank_patterns(measures(forward_ns=values.tolist()))
    counts = pattern.value_counts().sort("pattern").rows()
    assert counts == [(1, 512), (2, 504), (3, 8)]
    assert set(pattern[100:108]) == {3}
    assert set(pattern[512:]) == {1}
    titles = differences.select("pattern", "measure", "unit").rows()
    assert titles == [(2, "forward time", "ns"), (3, "forward time", "ns")]
    assert differences["value"][1] - differences["usual"][1] > 300


def test_where_every_rank_differs_nothing_is_usual() -> None:
    pattern, _ = rank_patterns(measures(forward_ns=[100.0, 300.0, 500.0, 900.0, 1500.0]))
    assert pattern.to_list() == [1] * 5


def test_one_of_few_differs() -> None:
    pattern, differences = rank_patterns(
        measures(backward_busy_pct=[83.0, 83.5, 82.7, 61.0, 83.1, 83.0, 83.2, 82.9])
    )
    assert pattern.to_list() == [1, 1, 1, 2, 1, 1, 1, 1]
    assert differences.select("measure", "unit", "value").rows() == [
        ("backward utilization", "pct", 61.0)
    ]


def test_what_some_ranks_do_not_have() -> None:
    """Ranks without a value are another pattern than those with one."""
    pattern, differences = rank_patterns(
        measures(dataloader_ns=[*([50.0] * 6), *([None] * 2)], forward_ns=[300.0] * 8)
    )
    assert pattern.to_list() == [1] * 6 + [2] * 2
    assert differences.select("measure", "value", "usual").rows() == [
        ("dataloader time", None, 50.0)
    ]


def test_without_any_measure() -> None:
    pattern, differences = rank_patterns(measures(longest_step_ns=[1.0, 2.0]))
    assert pattern.to_list() == [1, 1]
    assert differences.is_empty()
