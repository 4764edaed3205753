"""Hosts of stages that lie on one node, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.node_stages import late_stage_hosts

STAGES = pl.Series([0, 0, 1, 1, 2, 2])
NODES = pl.Series(["a", "a", "b", "b", "c", "c"])
STEP_NS = 1000.0


def waits(*of_rank: float) -> np.ndarray:
    """Two steps of each rank, alike."""
    return np.array([[value, value] for value in of_rank], np.float64)


def test_all_ranks_of_the_only_node_of_a_stage_are_late() -> None:
    late = late_stage_hosts(waits(2, 3, 100, 140, 4, 5), STEP_NS, STAGES, NODES)
    assert late is not None
    # The usual wait is that of the slowest other stage: (4 + 5) / 2.
    assert late[:, 0].tolist() == [0, 0, 95.5, 135.5, 0, 0]


def test_a_stage_on_two_nodes_has_peers_elsewhere() -> None:
    nodes = pl.Series(["a", "b", "c", "d", "e", "f"])
    assert late_stage_hosts(waits(2, 3, 100, 140, 4, 5), STEP_NS, STAGES, nodes) is None


def test_two_stages_of_the_late_node_are_both_late() -> None:
    stages, nodes = pl.Series([0, 1, 2, 3]), pl.Series(["a", "a", "b", "c"])
    late = late_stage_hosts(waits(100, 90, 2, 4), STEP_NS, stages, nodes)
    assert late is not None
    assert late[:, 0].tolist() == [96, 86, 0, 0]


def test_of_two_stages_either_may_be_the_usual_one() -> None:
    assert late_stage_hosts(waits(2, 3, 100, 140), STEP_NS, STAGES[:4], NODES[:4]) is None


def test_a_stage_whose_hosts_do_a_little_more_is_not_late() -> None:
    assert late_stage_hosts(waits(1, 1, 40, 42, 2, 3), STEP_NS, STAGES, NODES) is None  # 3.9 %
    assert late_stage_hosts(waits(20, 20, 100, 140, 15, 12), STEP_NS, STAGES, NODES) is None


def test_unknown_nodes_say_nothing() -> None:
    nodes = pl.Series(["a", "a", None, "b", "c", "c"])
    assert late_stage_hosts(waits(2, 3, 100, 140, 4, 5), STEP_NS, STAGES, nodes) is None
