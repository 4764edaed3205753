"""Transfer times, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cluster.network import Network, parts
from bench.cluster.topology import DATA, TENSOR, Topology
from tests.bench.cluster.ideal import ideal


def _network(topology: Topology, **shares: dict[int, float]) -> Network:
    columns = {
        "link": np.ones(topology.shape.ranks),
        "nic": np.ones(topology.shape.ranks),
        "switch": np.ones(topology.shape.switches),
    }
    for name, changed in shares.items():
        for place, share in changed.items():
            columns[name][place] = share
    return Network(topology, **columns)


def test_a_ring_sends_twice_all_but_its_own_part() -> None:
    assert parts("all_reduce", 8) == 2 * 7 / 8
    assert parts("all_gather", 8) == parts("reduce_scatter", 8) == parts("all_to_all", 8) == 7 / 8


def test_a_ring_is_as_fast_as_its_slowest_link() -> None:
    # 16 ranks, tensor-parallel pairs: 2 nodes, each data-parallel group has 4 ranks on each.
    topology = Topology(ideal(data=8, tensor=2))
    device = topology.shape.device
    healthy = _network(topology)
    assert healthy.ring(TENSOR) == pytest.approx([1 / device.link] * 8)
    assert healthy.ring(DATA) == pytest.approx([1 / (4 * device.nic)] * 2)
    slow = _network(topology, nic={3: 0.25}, link={5: 0.1})
    assert slow.ring(DATA) == pytest.approx([1 / (4 * device.nic), 1 / (0.1 * device.link)])
    assert slow.ring(TENSOR)[2] == pytest.approx(1 / (0.1 * device.link))


def test_a_slow_switch_slows_what_leaves_it() -> None:
    topology = Topology(ideal(data=32, tensor=1, pipeline=2, layers=(1, 1), switch_nodes=2))
    assert topology.switch.tolist() == [number // 16 for number in range(64)]
    network = _network(topology, switch={1: 0.5})
    own = np.arange(64)
    inside = network.pairs(own[:16], own[8:24])
    assert inside[0] == pytest.approx(1 / topology.shape.device.nic)
    assert inside[8] == pytest.approx(2 / topology.shape.device.nic)
