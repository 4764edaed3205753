"""Which end explains slow transfers: the one whose groups and pairs are slow, and no others."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.links import LinkUnits, cut_off_nodes, suspect

RANKS = pl.Series(range(8))
NODES = pl.Series(["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"])


def units(*members: list[int]) -> LinkUnits:
    ranks = [np.array(each) for each in members]
    within: list[bool | None] = [len({rank // 2 for rank in each}) == 1 for each in members]
    both_of_node = [np.array([rank for rank in each if rank ^ 1 in each]) for each in members]
    nothing = np.zeros((len(ranks), 1))
    return LinkUnits(ranks, both_of_node, within, nothing, nothing, pl.DataFrame())


def test_a_rank_in_all_slow_groups() -> None:
    every = units([0, 2, 4, 6], [1, 3, 5, 7], [0, 1], [2, 3], [4, 5], [6, 7], [2, 6])
    slow = np.array([True, False, False, False, False, False, True])
    end = suspect(every, slow, [("rank", RANKS), ("node", NODES)])
    assert end is not None
    # Ranks 2 and 6 share all slow groups; their pairs inside the node are fast.
    assert (end.level, end.names, end.is_within_node) == ("rank", [2, 6], False)


def test_a_ring_over_nodes_passes_by_the_slow_link_within_one() -> None:
    """Rank 5's link to rank 4 slows its pair and the ring of all ranks; its transfers to other
    nodes are fast."""
    every = units([0, 1], [2, 3], [4, 5], [6, 7], [0, 1, 2, 3, 5, 4, 6, 7], [1, 5], [3, 5], [4, 6])
    slow = np.array([False, False, True, False, True, False, False, False])
    end = suspect(every, slow, [("rank", RANKS), ("node", NODES)])
    assert end is not None
    assert (end.level, end.names, end.is_within_node) == ("rank", [4, 5], True)


def test_of_four_ranks_of_a_slow_group_the_one_whose_ring_is_slower_too() -> None:
    rings = [[first, first + 4] for first in range(4)]
    every = units([0, 1, 2, 3], [4, 5, 6, 7], *rings)
    slow = np.array([True, False, False, False, False, False])
    chance = 0.01 * np.random.default_rng(3).normal(size=(6, 4))
    for slower, expected in ((1.17, [2]), (1.0, [0, 1, 2, 3])):
        ratio = np.array([5.5, 1, 1, 1, slower, 1])[:, None] + chance
        seen = msgspec.structs.replace(every, slower=ratio)
        end = suspect(seen, slow, [("rank", RANKS), ("node", NODES)])
        assert end is not None
        assert end.names == expected


def test_a_node_before_its_ranks() -> None:
    every = units([0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7])
    slow = np.array([True, True, False, False, False, False, True, True])
    end = suspect(every, slow, [("rank", RANKS), ("node", NODES)])
    assert end is not None
    assert (end.level, end.names) == ("node", ["n1"])


def test_nodes_that_nothing_fast_connects_with_the_rest() -> None:
    every = units([0, 2], [1, 4], [3, 6], [5, 7], [0, 6])
    slow = np.array([False, True, True, False, True])
    # Of equal halves either does.
    halves = [*[None] * 4, *["of n2, n3"] * 4]
    assert [each.to_list() for each in cut_off_nodes(every, slow, NODES)] == [halves, halves]
    assert cut_off_nodes(every, np.zeros(5, np.bool_), NODES) == []
    assert cut_off_nodes(every, slow, NODES.scatter([3], [None])) == []


def test_a_middle_stage_behind_a_slow_switch() -> None:
    """Ranks 4-7 exchange with those before and after; only the last two stages are fast."""
    nodes = pl.Series([f"n{rank // 2}" for rank in range(16)])
    inside = [[first, first + 2] for first in range(0, 16, 4)]
    pairs = [[rank, rank + 4] for rank in range(12)]
    every = units(*inside, *pairs)
    slow = np.array([*[False] * 4, *[True] * 8, *[False] * 4])
    sets = cut_off_nodes(every, slow, nodes)
    end = suspect(every, slow, [("switch", names) for names in sets])
    assert end is not None
    assert (end.level, end.names, end.ranks.tolist()) == ("switch", ["of n2, n3"], [4, 5, 6, 7])


def test_most_units_are_slow() -> None:
    """Two of three pairs of stages are slow, as of a stage in the middle: the fast third counts."""
    chance = np.random.default_rng(1)
    ratio = np.where(np.arange(48) < 32, 3.0, 1.0) + 0.01 * chance.normal(size=48)
    shape = np.column_stack((ratio, ratio))
    every = LinkUnits([], [], [], shape, np.full_like(shape, 1e6), pl.DataFrame())
    assert every.slow(1e7).all(axis=1).tolist() == [number < 32 for number in range(48)]


def test_slow_groups_without_a_common_end() -> None:
    every = units([0, 1], [2, 3], [4, 5], [6, 7])
    slow = np.array([True, False, True, False])
    assert suspect(every, slow, [("rank", RANKS), ("node", NODES)]) is None
