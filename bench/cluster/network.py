"""How long transfers take: the slowest link of a ring, or the fullest one of an exchange."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench.cluster.hardware import Device
from bench.cluster.topology import Ints, Topology

Floats = npt.NDArray[np.float64]

LATENCY_NS = 8e3
"""What a small collective between two ranks takes, each further one a tenth of it more."""


def parts(collective: str, size: int) -> float:
    """How many times its size (that of the whole) a collective sends over each link of its ring.

    Raises:
        KeyError: it is not modelled.
    """
    once = (size - 1) / size
    return {"all_reduce": 2 * once, "all_gather": once, "reduce_scatter": once, "all_to_all": once}[
        collective
    ]


class Network:
    """The links of a job in one step.

    Attributes:
        topology: Where ranks are.
        link, nic: Share of the bandwidth that the links of each rank reach within its node, and
            out of it.
        switch: Share of the bandwidth that is left between each switch and the others.
    """

    def __init__(self, topology: Topology, link: Floats, nic: Floats, switch: Floats) -> None:
        self.topology = topology
        self.link, self.nic, self.switch = link, nic, switch
        self._cost: dict[str, Floats] = {}

    def ring(self, dimension: str) -> Floats:
        """Nanoseconds per byte of the ring of each group."""
        if dimension not in self._cost:
            members = self.topology.members[dimension]
            costs = [_ring(self, group) for group in members]
            self._cost[dimension] = np.array(costs)
        return self._cost[dimension]

    def pairs(self, source: Ints, target: Ints) -> Floats:
        """Nanoseconds per byte from each rank to another one."""
        device, where = self.topology.shape.device, self.topology
        inside = where.node[source] == where.node[target]
        share = np.where(
            inside,
            np.minimum(self.link[source], self.link[target]) * device.link,
            np.minimum(self.nic[source], self.nic[target]) * device.nic,
        )
        ends = where.switch[source], where.switch[target]
        crossing = np.minimum(self.switch[ends[0]], self.switch[ends[1]])
        return np.asarray(1.0 / (share * np.where(ends[0] == ends[1], 1.0, crossing)))


def _ring(network: Network, group: Ints) -> float:
    """Nanoseconds per byte of a ring through all ranks of a group.

    A collective has one channel per GPU of a node, each enters and leaves it by another GPU's
    interface, and it ends with its slowest channel.
    """
    where = network.topology
    device: Device = where.shape.device
    nodes = where.node[group]
    costs = [0.0]
    counts = np.unique(nodes, return_counts=True)[1]
    if counts.max() > 1:
        costs.append(1.0 / (device.link * network.link[group].min()))
    if len(counts) > 1:
        channels = int(counts.min())
        switches = np.unique(where.switch[group])
        crossing = network.switch[switches].min() if len(switches) > 1 else 1.0
        costs.append(1.0 / (channels * device.nic * network.nic[group].min() * crossing))
    return max(costs)
