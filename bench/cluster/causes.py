"""The causes: where one strikes, when, and what it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.cluster.faults import Faults, nothing
from bench.cluster.network import Floats, Network
from bench.cluster.topology import PIPELINE, Ints, Topology

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Cause:
    """A cause.

    Attributes:
        product: What the product calls it.
        level: Whom it strikes: ``rank``, ``node``, ``switch``, ``stage`` or ``expert``.
        needs: What a job must have for it (as :func:`bench.cluster.shape.draw`).
        detail: What a pause is.
        spread: Smallest and largest size of a first try.
        patterns: When it strikes.
    """

    product: str
    level: str
    spread: tuple[float, float]
    needs: frozenset[str] = frozenset()
    detail: str | None = None
    patterns: tuple[str, ...] = ("steady",)


STEADY, SOME, ONE, FROM = "steady", "some steps", "one step", "from a step on"

CAUSES: dict[str, Cause] = {
    "slow_device": Cause("slow_device", "rank", (0.08, 0.4)),
    "throttling": Cause("slow_device", "rank", (0.15, 0.6), patterns=(FROM, SOME)),
    "slow_node": Cause("slow_device", "node", (0.08, 0.3), frozenset({"nodes"})),
    "slow_host": Cause("slow_host", "rank", (1.0, 5.0), patterns=(STEADY, STEADY, FROM)),
    "slow_host_node": Cause(
        "slow_host", "node", (1.0, 4.0), frozenset({"nodes"}), patterns=(STEADY, STEADY, FROM)
    ),
    "slow_input": Cause("slow_input", "rank", (0.05, 0.4), patterns=(STEADY, SOME, FROM)),
    "slow_link": Cause("slow_link", "rank", (0.5, 6.0), patterns=(STEADY, STEADY, FROM)),
    "slow_switch": Cause(
        "slow_link", "switch", (0.5, 6.0), frozenset({"switches"}), patterns=(STEADY, STEADY, FROM)
    ),
    "uneven_tokens": Cause("uneven_work", "rank", (0.15, 0.6), frozenset({"data"})),
    "overloaded_expert": Cause("uneven_work", "expert", (0.5, 2.0), frozenset({"expert"})),
    "uneven_stage": Cause("uneven_work", "stage", (0.5, 1.0), frozenset({"pipeline"})),
    "pause_gc": Cause(
        "pause", "rank", (0.1, 0.6), detail="garbage collection", patterns=(ONE, SOME)
    ),
    "pause_checkpoint": Cause(
        "pause", "rank", (0.1, 1.0), detail="checkpoint", patterns=(ONE, SOME)
    ),
}
"""``throttling`` is a thirteenth: a slow device that is slow in some steps only."""


@dataclass(frozen=True)
class Planted:
    """A cause at its place.

    Attributes:
        name: Key of ``CAUSES``.
        faults: What is wrong.
        ranks: Whom it strikes.
        node, switch, stage, expert: Where, of those levels.
        pattern: When.
        steps: In which of the recorded steps.
        size: How much.
        part: Of a slow link whether it is the one in the node or out of it.
    """

    name: str
    faults: Faults
    ranks: tuple[int, ...]
    node: int | None
    switch: int | None
    stage: int | None
    expert: int | None
    pattern: str
    steps: tuple[int, ...]
    size: float
    part: str = ""


def plant(
    name: str, topology: Topology, step_ns: float, larger: float, chance: np.random.Generator
) -> Planted | None:
    """A cause at a random place and time; None where the recordings of the job could not say
    where it is.

    Args:
        name: Key of ``CAUSES``.
        topology: The job.
        step_ns: Length of its healthy steps.
        larger: Factor of the size.
        chance: Decides.
    """
    cause = CAUSES[name]
    pattern = str(chance.choice(cause.patterns))
    steps = _steps(pattern, topology.shape.steps, chance)
    pattern = ONE if steps.sum() == 1 else pattern
    size = float(chance.uniform(*cause.spread)) * larger
    number = {
        "rank": topology.shape.ranks,
        "node": topology.shape.nodes,
        "switch": topology.shape.switches,
        "stage": topology.shape.pipeline,
        "expert": topology.shape.expert,
    }[cause.level]
    where = int(chance.integers(number))
    if name == "uneven_tokens":
        where = int(chance.integers(topology.shape.data))
        struck = topology.replica == where
    else:
        struck = _struck(cause.level, topology, where)
    faults = nothing(topology)
    part = str(chance.choice(["nic", "link"]))
    if cause.product == "slow_link":
        level = "switch" if cause.level == "switch" else part
        if not _is_decidable(topology, level, where, 1 / (1 + size)):
            return None
    pause = int(chance.integers(len(faults.pause_ns)))
    strike = _Strike(struck, steps, size, where, part, pause, step_ns)
    _CHANGES[name](faults, strike)
    if name.startswith("pause"):
        faults.pause = name.removeprefix("pause_")
    return Planted(
        name=name,
        faults=faults,
        ranks=tuple(np.flatnonzero(struck).tolist()),
        node=where if cause.level == "node" else None,
        switch=where if cause.level == "switch" else None,
        stage=where if cause.level == "stage" else None,
        expert=where if cause.level == "expert" else None,
        pattern=pattern,
        steps=tuple(np.flatnonzero(steps).tolist()),
        size=size,
        part=part if name == "slow_link" else "",
    )


def _steps(pattern: str, count: int, chance: np.random.Generator) -> Bools:
    """In which steps; the first one never alone, as first steps are slower anyway."""
    steps = np.ones(count, bool)
    if pattern == FROM:
        steps[: int(chance.integers(1, count))] = False
    elif pattern == ONE or (pattern == SOME and count < 4):
        steps[:] = False
        steps[int(chance.integers(1, count))] = True
    elif pattern == SOME:
        steps[:] = False
        steps[chance.choice(np.arange(1, count), 2, replace=False)] = True
    return steps


def _struck(level: str, topology: Topology, where: int) -> Bools:
    column = {
        "rank": np.arange(topology.shape.ranks),
        "node": topology.node,
        "switch": topology.switch,
        "stage": topology.stage,
        "expert": topology.expert,
    }[level]
    return np.asarray(column == where)


@dataclass(frozen=True)
class _Strike:
    """A cause at its place, before it changes anything.

    Attributes:
        struck: Which ranks.
        steps: In which steps.
        size: How much.
        where: Number of the rank, node, switch, stage or expert.
        part: Of a link, the one in the node or out of it.
        pause: Where in a step a pause is.
        step_ns: Length of a healthy step.
    """

    struck: Bools
    steps: Bools
    size: float
    where: int
    part: str
    pause: int
    step_ns: float

    @property
    def cells(self) -> tuple[Ints, ...]:
        """Steps and ranks, as an index of a matrix."""
        return np.ix_(np.flatnonzero(self.steps), np.flatnonzero(self.struck))


def _slow_device(faults: Faults, strike: _Strike) -> None:
    faults.device[strike.cells] = 1 + strike.size


def _slow_host(faults: Faults, strike: _Strike) -> None:
    faults.host[strike.cells] = 1 + strike.size


def _slow_input(faults: Faults, strike: _Strike) -> None:
    faults.input_ns[strike.cells] = strike.size * strike.step_ns


def _slow_link(faults: Faults, strike: _Strike) -> None:
    shares = faults.nic if strike.part == "nic" else faults.link
    shares[strike.cells] = 1 / (1 + strike.size)


def _slow_switch(faults: Faults, strike: _Strike) -> None:
    faults.switch[strike.steps, strike.where] = 1 / (1 + strike.size)


def _more_tokens(faults: Faults, strike: _Strike) -> None:
    faults.tokens[strike.struck] = 1 + strike.size


def _more_routed(faults: Faults, strike: _Strike) -> None:
    faults.routed[strike.struck] = 1 + strike.size


def _more_layers(faults: Faults, strike: _Strike) -> None:
    layers = list(faults.layers)
    layers[strike.where] += max(1, round(strike.size * layers[strike.where]))
    faults.layers = tuple(layers)


def _pause(faults: Faults, strike: _Strike) -> None:
    faults.pause_ns[strike.pause][strike.cells] = strike.size * strike.step_ns


_CHANGES: dict[str, Callable[[Faults, _Strike], None]] = {
    "slow_device": _slow_device, "throttling": _slow_device, "slow_node": _slow_device,
    "slow_host": _slow_host, "slow_host_node": _slow_host, "slow_input": _slow_input,
    "slow_link": _slow_link, "slow_switch": _slow_switch, "uneven_tokens": _more_tokens,
    "overloaded_expert": _more_routed, "uneven_stage": _more_layers,
    "pause_gc": _pause, "pause_checkpoint": _pause,
}  # fmt: skip


def _is_decidable(topology: Topology, part: str, where: int, share: float) -> bool:
    """Whether the transfers of a job say which link is slow: no other one slows the same.

    Where one ring joins all ranks, every rank sees the same slow ring, and a recording of
    durations cannot say which of its links is to blame.
    """
    count = topology.shape.switches if part == "switch" else topology.shape.ranks
    own = _signature(topology, part, where, share)
    return bool(own.any()) and not any(
        np.array_equal(own, _signature(topology, part, other, share))
        for other in range(count)
        if other != where
    )


def _signature(topology: Topology, part: str, where: int, share: float) -> Bools:
    """Which rings and pairs are clearly slower when only a share of a link's bandwidth is left."""
    shares = {
        "link": np.ones(topology.shape.ranks),
        "nic": np.ones(topology.shape.ranks),
        "switch": np.ones(topology.shape.switches),
    }
    healthy = _costs(topology, Network(topology, **shares))
    shares[part] = shares[part].copy()
    shares[part][where] = share
    return np.asarray(_costs(topology, Network(topology, **shares)) > 1.1 * healthy)


def _costs(topology: Topology, network: Network) -> Floats:
    costs = [
        network.ring(name) for name in topology.members if name not in ("world", "model", PIPELINE)
    ]
    ends: Ints = np.arange(topology.shape.ranks)
    next_stage = topology.shape.data * topology.shape.tensor
    if topology.shape.pipeline > 1:
        costs.append(network.pairs(ends[:-next_stage], ends[next_stage:]))
    return np.concatenate(costs) if costs else np.zeros(1)
