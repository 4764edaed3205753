"""A job from a seed: its shape, its cause, and what the cause really costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.cluster.causes import CAUSES, Planted, plant
from bench.cluster.faults import nothing
from bench.cluster.model import Job
from bench.cluster.shape import Shape, draw
from bench.cluster.simulation import simulate
from bench.cluster.topology import Topology
from bench.cluster.traces import clock_offsets, write_traces

LEAST_PCT, MOST_PCT = 2.0, 150.0
"""What a planted cause costs of the step, at least and at most."""

LEAST_BUSY = 0.35
"""Share of the time in which the devices of a healthy job compute, at least."""

TRIES = 12
NONE = "none"


@dataclass
class Case:
    """A job with its truth.

    Attributes:
        seed: Makes it again, with the number of ranks and the cause.
        cause: Its name, or ``none``.
        job: What happened.
        planted: The cause, if any.
        healthy_ns: Its length without the cause.
    """

    seed: int
    cause: str
    job: Job
    planted: Planted | None
    healthy_ns: float

    @property
    def cost_ns(self) -> float:
        """Of the cause, per step."""
        return (self.job.length_ns - self.healthy_ns) / self.job.topology.shape.steps

    @property
    def cost_pct(self) -> float:
        """Of the cause, of the step as it is."""
        return 100 * (1 - self.healthy_ns / self.job.length_ns)


def make_case(seed: int, ranks: int, cause: str) -> Case:
    """A job of a cause, of ``none`` or of a ``random`` one.

    Raises:
        ValueError: no job of so many ranks can have the cause.
    """
    chance = np.random.default_rng((seed, ranks))
    names = [NONE, *CAUSES] if cause == "random" else [cause]
    order = [str(name) for name in chance.permutation(names)]
    for name in order:
        needs = CAUSES[name].needs if name in CAUSES else frozenset()
        try:
            shape = draw(chance, ranks, needs)
        except ValueError:
            if cause != "random":
                raise
            continue
        for _ in range(40):
            if (case := _try(seed, name, shape, chance)) is not None:
                return case
            shape = draw(chance, ranks, needs)
    raise ValueError(f"no job of {ranks} ranks with {cause} (seed {seed})")


def _try(seed: int, name: str, shape: Shape, chance: np.random.Generator) -> Case | None:
    """A job of a shape, or None where its devices are idle or no cause costs enough."""
    topology = Topology(shape)
    healthy = simulate(topology, nothing(topology), seed)
    if busy(healthy) < LEAST_BUSY:
        return None
    if name == NONE:
        return Case(seed, name, healthy, None, healthy.length_ns)
    larger = 1.0
    for _ in range(TRIES):
        planted = plant(name, topology, healthy.length_ns / shape.steps, larger, chance)
        if planted is None:
            continue
        job = simulate(topology, planted.faults, seed)
        case = Case(seed, name, job, planted, healthy.length_ns)
        if LEAST_PCT <= 100 * (case.job.length_ns / case.healthy_ns - 1) <= MOST_PCT:
            return case
        larger *= 1.4 if case.cost_pct < LEAST_PCT else 0.6
    return None


def busy(job: Job) -> float:
    """Mean share of the time in which devices compute."""
    work = sum(
        float((record.finish - record.begin).sum())
        for stage in job.stages
        for record in stage.records
        if record.op.kind == "kernel" and record.begin is not None and record.finish is not None
    )
    return work / job.length_ns / job.topology.shape.ranks


def truth(case: Case) -> dict[str, Any]:
    """What is known about a job, as it is written beside its traces."""
    topology, planted = case.job.topology, case.planted
    shape = asdict(topology.shape)
    shape["device"] = topology.shape.device.name
    known: dict[str, Any] = {
        "seed": case.seed,
        "cause": None if planted is None else planted.name,
        "product_cause": None,
        "level": None,
        "ranks": [],
        "node": None,
        "switch": None,
        "stage": None,
        "expert": None,
        "steps": [],
        "pattern": None,
        "detail": None,
        "size": None,
        "part": None,
        "cost_us_per_step": 0.0,
        "cost_pct": 0.0,
        "step_us": case.job.length_ns / topology.shape.steps / 1e3,
        "clock_offsets_ns": clock_offsets(case.job, case.seed).tolist(),
        "nodes": [topology.host(node) for node in topology.node.tolist()],
        "switches": [topology.switch_name(switch) for switch in topology.switch.tolist()],
        "shape": shape,
    }
    if planted is not None:
        cause = CAUSES[planted.name]
        first = topology.shape.first_step
        known |= {
            "product_cause": cause.product,
            "level": cause.level,
            "ranks": list(planted.ranks),
            "node": None if planted.node is None else topology.host(planted.node),
            "switch": None if planted.switch is None else topology.switch_name(planted.switch),
            "stage": planted.stage,
            "expert": planted.expert,
            "steps": [first + step for step in planted.steps],
            "pattern": planted.pattern,
            "detail": cause.detail,
            "size": planted.size,
            "part": planted.part or None,
            "cost_us_per_step": case.cost_ns / 1e3,
            "cost_pct": case.cost_pct,
        }
    return known


def write_case(case: Case, folder: Path) -> None:
    """Write traces, truth and the file that names the switches into a folder.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_traces(case.job, folder, case.seed)
    text = msgspec.json.format(msgspec.json.encode(truth(case)), indent=1)
    (folder / "truth.json").write_bytes(text)
    (folder / "topology.toml").write_text(switches_text(case.job.topology), encoding="utf-8")


def switches_text(topology: Topology) -> str:
    """Which nodes are behind which switch: what no recording says, and people write themselves."""
    lines = ["[switches]"]
    for switch in range(topology.shape.switches):
        nodes = np.unique(topology.node[topology.switch == switch]).tolist()
        names = ", ".join(f'"{topology.host(node)}"' for node in nodes)
        lines.append(f"{topology.switch_name(switch)} = [{names}]")
    return "\n".join(lines) + "\n"
