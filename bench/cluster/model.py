"""What happened in a simulated job."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bench.cluster.faults import Faults
from bench.cluster.network import Floats
from bench.cluster.program import Op
from bench.cluster.topology import Ints, Topology


@dataclass(eq=False)
class Record:
    """An operation of all ranks of a stage, in one step; times in nanoseconds.

    Attributes:
        step: Index of the step.
        op: What it is.
        start, end: Of the host.
        launch, launched: Start and end of the call that launches, none for host operations.
        begin, finish: Of the device work.
    """

    step: int
    op: Op
    start: Floats
    end: Floats
    launch: Floats | None = None
    launched: Floats | None = None
    begin: Floats | None = None
    finish: Floats | None = None


@dataclass(eq=False)
class Stage:
    """The ranks of a pipeline stage while they run.

    Attributes:
        number: Which stage.
        ranks: Which ranks.
        ops: What they do in a step.
        host: Time of each host.
        streams: Time of each stream of each rank.
        marks: Ends of collectives by their mark.
        records: What happened.
        steps: Of each step the starts and ends on the hosts.
        position: Next operation, over all steps.
        draws: Random numbers of the current step: one row per operation.
    """

    number: int
    ranks: Ints
    ops: list[Op]
    host: Floats
    streams: dict[str, Floats]
    marks: dict[str, Floats] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    steps: list[tuple[Floats, Floats]] = field(default_factory=list)
    position: int = 0
    draws: Floats = field(default_factory=lambda: np.empty(0))


@dataclass
class Job:
    """What happened.

    Attributes:
        topology: Where ranks are.
        faults: What was wrong.
        stages: Its stages, with their records.
        routed: Of the first rank of a stage, step and routing: factor of the tokens that the
            experts of each rank of the stage got.
    """

    topology: Topology
    faults: Faults
    stages: list[Stage]

    routed: dict[tuple[int, int, int], Floats]

    @property
    def length_ns(self) -> float:
        """From the first start to the last end."""
        first = min(float(stage.steps[0][0].min()) for stage in self.stages)
        return max(float(stage.steps[-1][1].max()) for stage in self.stages) - first
