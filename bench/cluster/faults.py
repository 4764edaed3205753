"""What is wrong with a job, per step and rank; ones and zeros where nothing is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cluster.network import Floats
from bench.cluster.topology import Topology

PAUSES = ("begin", "middle", "end")
"""Where in a step a host may pause: before the first kernel, half-way, before the optimizer."""


@dataclass
class Faults:
    """What differs from a healthy job; matrices have one row per step and one column per rank.

    Attributes:
        device: Factor of kernels' durations.
        host: Factor of the host's time.
        input_ns: Additional time of the data loader.
        link, nic: Share of bandwidth that is left, within and between nodes.
        switch: The same of what leaves a switch, one column per switch.
        tokens: Factor of the tokens of each rank.
        routed: Factor of the tokens that are routed to the experts of each rank.
        pause_ns: Of each of ``PAUSES`` a matrix of times.
        pause: What pauses are, ``gc`` or ``checkpoint``.
        layers: Layers of each stage.
    """

    device: Floats
    host: Floats
    input_ns: Floats
    link: Floats
    nic: Floats
    switch: Floats
    tokens: Floats
    routed: Floats
    pause_ns: Floats
    pause: str
    layers: tuple[int, ...]


def nothing(topology: Topology) -> Faults:
    """A healthy job."""
    shape = topology.shape
    every = shape.steps, shape.ranks
    return Faults(
        device=np.ones(every),
        host=np.ones(every),
        input_ns=np.zeros(every),
        link=np.ones(every),
        nic=np.ones(every),
        switch=np.ones((shape.steps, shape.switches)),
        tokens=np.ones(shape.ranks),
        routed=np.ones(shape.ranks),
        pause_ns=np.zeros((len(PAUSES), *every)),
        pause="",
        layers=shape.layers,
    )
