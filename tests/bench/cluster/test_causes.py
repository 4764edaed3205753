"""Causes: what they cost, and where they are allowed to strike."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cluster.causes import CAUSES, plant
from bench.cluster.faults import nothing
from bench.cluster.jobs import LEAST_PCT, make_case, truth
from bench.cluster.shape import draw
from bench.cluster.simulation import simulate
from bench.cluster.topology import Topology


@pytest.mark.parametrize("name", [name for name in CAUSES if name != "uneven_stage"])
def test_a_cause_of_no_size_costs_nothing(name: str) -> None:
    chance = np.random.default_rng(5)
    topology = Topology(draw(chance, 64, CAUSES[name].needs))
    # What cannot be located is refused whatever its size, so that links are tried without size
    # by the network's own test.
    planted = plant(name, topology, 1e8, 0.0, chance)
    if CAUSES[name].product == "slow_link":
        assert planted is None
        return
    assert planted is not None
    healthy = simulate(topology, nothing(topology), 5)
    assert simulate(topology, planted.faults, 5).length_ns == healthy.length_ns


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_costs_what_the_truth_says(name: str) -> None:
    case = make_case(11, 64, name)
    known = truth(case)
    assert case.planted is not None
    assert known["cause"] == name
    assert known["cost_pct"] > LEAST_PCT - 0.1
    without = case.job.length_ns - known["cost_us_per_step"] * 1e3 * known["shape"]["steps"]
    assert without == pytest.approx(case.healthy_ns)
    assert set(known["ranks"]) <= set(range(64))
    if CAUSES[name].level == "node":
        assert {known["nodes"][rank] for rank in known["ranks"]} == {known["node"]}
    if CAUSES[name].level == "switch":
        assert {known["switches"][rank] for rank in known["ranks"]} == {known["switch"]}


def test_a_ring_of_all_ranks_does_not_say_which_link_is_slow() -> None:
    chance = np.random.default_rng(1)
    shape = draw(chance, 64)
    while not (shape.pipeline == shape.tensor == shape.expert == 1):
        shape = draw(chance, 64)
    topology = Topology(shape)
    assert all(plant("slow_link", topology, 1e8, 1.0, chance) is None for _ in range(20))


def test_a_random_case_is_the_same_whenever_it_is_made() -> None:
    first, again = make_case(4, 8, "random"), make_case(4, 8, "random")
    assert truth(first) == truth(again)


def test_a_small_job_has_no_switches() -> None:
    with pytest.raises(ValueError, match="switches"):
        make_case(1, 8, "slow_switch")
