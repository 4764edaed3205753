"""Slow ranks that share a node or a switch, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.levels import group_ranks

COORDINATES = pl.DataFrame({"rank": range(16)})
LOCATIONS = pl.DataFrame(
    {"node": [f"n{row // 4}" for row in range(16)], "switch": [f"s{row // 8}" for row in range(16)]}
)


def groups(losses: Sequence[float]) -> list[tuple[str, list[str | int]]]:
    values = np.array(losses)[:, None]
    grouped = group_ranks("slow_host", values[:, 0] > 1, values, COORDINATES, LOCATIONS)
    return [(group.level, group.names) for group in grouped]


def test_all_ranks_of_a_node_are_slow() -> None:
    assert groups([90, 100, 80, 70] + [0] * 12) == [("node", ["n0"])]


def test_all_ranks_of_a_switch_are_slow() -> None:
    assert groups([90, 100, 80, 70, 60, 90, 95, 99] + [0] * 8) == [("switch", ["s0"])]


def test_scatter_of_the_next_node_does_not_make_it_the_switch() -> None:
    losses = [90, 100, 80, 70, 5, 4, 0, 0] + [0] * 8
    assert groups(losses) == [("node", ["n0"]), *(("rank", [rank]) for rank in (4, 5))]


def test_one_slow_rank_is_not_its_node() -> None:
    assert groups([0, 100] + [0] * 14) == [("rank", [1])]


def test_many_ranks_without_a_place_of_their_own_are_one_cause() -> None:
    count = 33
    values = np.zeros((count, 1))
    values[::2, 0] = np.linspace(80, 100, 17)
    values[32, 0] = 400
    locations = pl.DataFrame({"node": [f"n{row // 4}" for row in range(count)],
                              "switch": ["s"] * count})  # fmt: skip
    coordinates = pl.DataFrame({"rank": range(count)})
    grouped = group_ranks("slow_device", values[:, 0] > 1, values, coordinates, locations)
    assert [group.names for group in grouped] == [list(range(0, 32, 2)), [32]]
    assert [group.level for group in grouped] == ["rank", "rank"]


def test_few_ranks_are_causes_of_their_own() -> None:
    assert groups([0, 90] * 3 + [0] * 10) == [("rank", [rank]) for rank in (1, 3, 5)]
