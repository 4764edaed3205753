"""Which end explains slow transfers: the one whose groups and pairs are slow, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.links import LinkUnits, cut_off_nodes, suspect

RANKS = pl.Series(range(8))
NODES = pl.Series(["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"])


def units(*members: list[int]) -> LinkUnits:
    ranks = [np.array(each) for each in members]
    within: list[bool | None] = [bool(NODES.gather(each).n_unique() == 1) for each in ranks]
    nothing = np.zeros((len(ranks), 1))
    return LinkUnits(ranks, within, nothing, nothing, pl.DataFrame())


def test_a_rank_in_all_slow_groups() -> None:
    every = units([0, 2, 4, 6], [1, 3, 5, 7], [0, 1], [2, 3], [4, 5], [6, 7], [2, 6])
    slow = np.array([True, False, False, False, False, False, True])
    end = suspect(every, slow, {"rank": RANKS, "node": NODES})
    assert end is not None
    # Ranks 2 and 6 share all slow groups; their pairs inside the node are fast.
    assert (end.level, end.names, end.is_within_node) == ("rank", [2, 6], False)


def test_a_node_before_its_ranks() -> None:
    every = units([0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7])
    slow = np.array([True, True, False, False, False, False, True, True])
    end = suspect(every, slow, {"rank": RANKS, "node": NODES})
    assert end is not None
    assert (end.level, end.names) == ("node", ["n1"])


def test_nodes_that_nothing_fast_connects_with_the_rest() -> None:
    every = units([0, 2], [1, 4], [3, 6], [5, 7], [0, 6])
    slow = np.array([False, True, True, False, True])
    # Of equal halves either does.
    assert cut_off_nodes(every, slow, NODES).to_list() == [*[None] * 4, *["of n2, n3"] * 4]
    assert cut_off_nodes(every, np.zeros(5, np.bool_), NODES).null_count() == 8
    unknown = NODES.scatter([3], [None])
    assert cut_off_nodes(every, slow, unknown).null_count() == 8


def test_slow_groups_without_a_common_end() -> None:
    every = units([0, 1], [2, 3], [4, 5], [6, 7])
    slow = np.array([True, False, True, False])
    assert suspect(every, slow, {"rank": RANKS, "node": NODES}) is None
