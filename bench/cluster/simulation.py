"""When everything of a job happens.

A host does one operation after another and launches device work ahead of the device. A stream
runs its work in order, each piece when it is launched and what it needs has ended. A collective
ends on all members together: when the last one has arrived, plus its transfer. What a healthy job
does at random is drawn from numbers that do not depend on what is wrong, so that two simulations
differ only by that.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bench.cluster.faults import PAUSES, Faults
from bench.cluster.model import Job, Record, Stage
from bench.cluster.network import LATENCY_NS, Floats, Network, parts
from bench.cluster.program import COMPUTE, Op, program
from bench.cluster.shape import Noise
from bench.cluster.topology import EXPERT, Ints, Topology

LAUNCH = 0.25
"""Share of an operator's host time that is the call that launches its kernel; half of the rest
comes before it."""

LATENCY = 4e3
"""Nanoseconds from the end of a launch to the start of its kernel."""

GAP = 800.0
"""Nanoseconds between kernels of a stream."""

INPUT_NS = 60e3
"""Of a batch that a worker process has ready."""


def simulate(topology: Topology, faults: Faults, seed: int) -> Job:
    """Run a job.

    Raises:
        RuntimeError: its stages wait for each other (an error of the program).
    """
    return _Run(topology, faults, seed).run()


class _Run:
    def __init__(self, topology: Topology, faults: Faults, seed: int) -> None:
        self.topology, self.faults, self.seed = topology, faults, seed
        shape = self.shape = topology.shape
        self.noise: Noise = shape.noise
        chance = np.random.default_rng((seed, 1))
        self.speed = np.exp(self.noise.device * chance.normal(size=shape.ranks))
        starts = self.noise.start_ns * chance.uniform(size=shape.ranks)
        per_stage = shape.data * shape.tensor
        self.stages = [
            Stage(
                number,
                np.arange(number * per_stage, (number + 1) * per_stage),
                program(topology, number, faults.layers[number]),
                1e6 + starts[number * per_stage : (number + 1) * per_stage],
                defaultdict(lambda: np.zeros(per_stage)),
            )
            for number in range(shape.pipeline)
        ]
        self.networks = [
            Network(topology, faults.link[step], faults.nic[step], faults.switch[step])
            for step in range(shape.steps)
        ]
        self.local = {
            name: members for name, members in topology.members.items()
            if topology.stage[members[0]].min() == topology.stage[members[0]].max()
        }  # fmt: skip
        self.arrived: dict[tuple[int, int], dict[int, Record]] = defaultdict(dict)
        self.sent: dict[tuple[int, str], list[Record]] = defaultdict(list)
        self.unfinished: dict[tuple[int, str], Record] = {}
        self.shares: dict[tuple[int, int, int], Floats] = {}
        self.numbers = [_numbered(stage.ops) for stage in self.stages]
        self.groups = {
            (number, name): self._inside(stage, name)
            for number, stage in enumerate(self.stages) for name in self.local
        }  # fmt: skip

    def run(self) -> Job:
        while True:
            has_moved = False
            is_done = True
            for number, stage in enumerate(self.stages):
                while stage.position < len(stage.ops) * self.shape.steps:
                    if not self._advance(number, stage):
                        is_done = False
                        break
                    has_moved = True
            if is_done:
                break
            if not has_moved:
                raise RuntimeError("the stages wait for each other")
        for stage in self.stages:
            self._end_step(stage)
        return Job(self.topology, self.faults, self.stages, self.shares)

    def _advance(self, number: int, stage: Stage) -> bool:
        """Do the next operation of a stage; whether that was possible."""
        step, place = divmod(stage.position, len(stage.ops))
        op = stage.ops[place]
        if place == 0 and len(stage.steps) <= step:
            self._begin_step(number, stage, step)
        done = True
        if op.kind == "kernel":
            self._kernel(stage, step, place, op)
        elif op.kind == "collective":
            done = self._collective(number, stage, step, place, op)
        elif op.kind == "send":
            done = self._send(number, stage, step, place, op)
        elif op.kind == "receive":
            done = self._receive(number, stage, step, place, op)
        elif op.kind == "wait":
            compute = stage.streams[COMPUTE]
            stage.streams[COMPUTE] = np.maximum(compute, stage.marks[op.mark])
        elif op.kind in ("sync", "event"):
            done = self._synchronize(number, stage, step, place, op)
        else:
            self._host(stage, step, place, op)
        stage.position += done
        return done

    def _begin_step(self, number: int, stage: Stage, step: int) -> None:
        if step:
            self._end_step(stage)
        chance = np.random.default_rng((self.seed, 2, number, step))
        stage.draws = chance.normal(size=(len(stage.ops), 3, len(stage.ranks)))
        stage.draws[:, 2] = chance.uniform(size=(len(stage.ops), len(stage.ranks)))
        stage.steps.append((stage.host.copy(), stage.host.copy()))

    def _end_step(self, stage: Stage) -> None:
        if len(stage.steps) == self.shape.steps:  # the profiler waits for the device when it stops
            for times in stage.streams.values():
                stage.host = np.maximum(stage.host, times)
        stage.steps[-1] = (stage.steps[-1][0], stage.host.copy())
        stage.host = stage.host + 20e3

    def _cost(self, stage: Stage, step: int, place: int, times: float = 1.0) -> Floats:
        """The host's time for an operation."""
        draws = stage.draws[place]
        cost = self.shape.host_ns * times * (1.3 if step == 0 and self.noise.host else 1.0)
        factor = self.faults.host[step, stage.ranks]
        hiccup = np.where(
            draws[2] < self.noise.hiccup, 1e6 * draws[2] / max(self.noise.hiccup, 1e-9), 0
        )
        return np.asarray(cost * factor * np.exp(self.noise.host * draws[0]) + hiccup)

    def _launch(self, stage: Stage, step: int, place: int, op: Op, times: float = 1.0) -> Record:
        """The host's part of an operation with device work."""
        cost = self._cost(stage, step, place, times)
        start = stage.host
        call = start + cost * (1 - LAUNCH) / 2
        stage.host = start + cost
        record = Record(step, op, start, stage.host, call, call + cost * LAUNCH)
        stage.records.append(record)
        return record

    def _kernel(self, stage: Stage, step: int, place: int, op: Op) -> None:
        record = self._launch(stage, step, place, op)
        assert record.launched is not None
        ranks = stage.ranks
        noise = np.exp(self.noise.kernel * stage.draws[place, 1])
        length = op.ns * self.scale(stage, step, op) * self.speed[ranks] * noise
        length = length * self.faults.device[step, ranks]
        record.begin = np.maximum(record.launched + LATENCY, stage.streams[COMPUTE] + GAP)
        record.finish = record.begin + length
        stage.streams[COMPUTE] = record.finish

    def scale(self, stage: Stage, step: int, op: Op) -> Floats:
        """By how much an operation of each rank is larger than the model says."""
        if not op.scale:
            return np.ones(len(stage.ranks))
        tokens = self.faults.tokens[stage.ranks]
        if op.scale == "tokens":
            return np.asarray(tokens)
        return self.routed(stage, step, op.routing)

    def routed(self, stage: Stage, step: int, routing: int) -> Floats:
        """Factor of the tokens that the experts of each rank get: of all tokens of their group."""
        first = int(stage.ranks[0])
        if (first, step, routing) not in self.shares:
            chance = np.random.default_rng((self.seed, 3, first, step, routing))
            drawn = np.exp(self.noise.routing * chance.normal(size=len(stage.ranks)))
            drawn = drawn * self.faults.routed[stage.ranks]
            _, members = self.groups[stage.number, EXPERT]
            tokens = self.faults.tokens[stage.ranks][members].mean(axis=1, keepdims=True)
            # What one expert gets more, the others of its group get less.
            share = drawn[members] / drawn[members].mean(axis=1, keepdims=True) * tokens
            drawn[members] = share
            self.shares[first, step, routing] = drawn
        return self.shares[first, step, routing]

    def _inside(self, stage: Stage, dimension: str) -> tuple[Ints, Ints]:
        """The rows of the groups of a stage, and their members as positions among its ranks."""
        members = self.local[dimension]
        rows = np.flatnonzero(np.isin(members[:, 0], stage.ranks))
        return rows, members[rows] - stage.ranks[0]

    def _arrive(self, stage: Stage, record: Record, stream: str) -> None:
        assert record.launched is not None
        ready = np.maximum(record.launched + LATENCY, stage.streams[stream] + GAP)
        record.begin = np.maximum(ready, stage.streams[COMPUTE])

    def _collective(self, number: int, stage: Stage, step: int, place: int, op: Op) -> bool:
        if op.group in self.local:
            record = self._launch(stage, step, place, op, 2.0)
            self._arrive(stage, record, op.group)
            inside, members = self.groups[number, op.group]
            sizes = op.size * self.scale(stage, step, op)
            ring = self.networks[step].ring(op.group)[inside]
            assert record.begin is not None
            record.finish = self._finish(
                record.begin, members, (sizes, ring), op, stage.draws[place, 1]
            )
            self._after(stage, op, record.finish)
            return True
        key = (step, self.numbers[number][place])
        waiting = self.arrived[key]
        if number not in waiting:
            record = self._launch(stage, step, place, op, 2.0)
            self._arrive(stage, record, op.group)
            waiting[number] = record
        if len(waiting) < len(self.stages):
            return False
        if waiting[number].finish is None:
            begins = np.concatenate([waiting[each].begin for each in sorted(waiting)])
            members = self.topology.members[op.group]
            sizes = np.full(self.shape.ranks, op.size)
            ring = self.networks[step].ring(op.group)
            chance = np.random.default_rng((self.seed, 4, *key))
            noise = chance.normal(size=self.shape.ranks)
            finish = self._finish(begins, members, (sizes, ring), op, noise)
            for each, record in waiting.items():
                record.finish = finish[self.stages[each].ranks]
        finished = waiting[number].finish
        assert finished is not None
        self._after(stage, op, finished)
        return True

    def _finish(
        self, begins: Floats, members: Ints, costs: tuple[Floats, Floats], op: Op, noise: Floats
    ) -> Floats:
        """When the collective of each group ends on its members."""
        size, (sizes, ring) = members.shape[1], costs
        largest = sizes[members].max(axis=1)
        latency = LATENCY_NS * (1 + 0.1 * (size - 1)) if self.noise.kernel else 0.0
        jitter = np.exp(self.noise.network * noise[members[:, 0]])
        lasts = (latency + parts(op.name, size) * largest * ring) * jitter
        ends = begins[members].max(axis=1) + lasts
        finish = np.empty_like(begins)
        finish[members] = ends[:, None]
        return finish

    def _after(self, stage: Stage, op: Op, finish: Floats) -> None:
        stage.streams[op.group] = finish
        if op.mark:
            stage.marks[op.mark] = finish
        if op.blocks:
            stage.streams[COMPUTE] = np.maximum(stage.streams[COMPUTE], finish)

    def _send(self, number: int, stage: Stage, step: int, place: int, op: Op) -> bool:
        if self.unfinished.get((number, op.name)):
            return False
        record = self._launch(stage, step, place, op, 2.0)
        self._arrive(stage, record, f"send {op.name}")
        self.unfinished[number, op.name] = record
        self.sent[number, op.name].append(record)
        return True

    def _receive(self, number: int, stage: Stage, step: int, place: int, op: Op) -> bool:
        source = number - 1 if op.name == "forward" else number + 1
        sent = self.sent[source, op.name]
        if not sent:
            return False
        other = sent.pop(0)
        record = self._launch(stage, step, place, op, 2.0)
        stream = f"receive {op.name}"
        self._arrive(stage, record, stream)
        sender = self.stages[source]
        assert record.begin is not None
        assert other.begin is not None
        ring = self.networks[step].pairs(sender.ranks, stage.ranks)
        size = op.size * self.faults.tokens[stage.ranks]
        jitter = np.exp(self.noise.network * stage.draws[place, 1])
        latency = LATENCY_NS if self.noise.kernel else 0.0
        finish = np.maximum(record.begin, other.begin) + (latency + size * ring) * jitter
        record.finish = other.finish = finish
        sender.streams[f"send {op.name}"] = finish
        stage.streams[stream] = finish
        stage.streams[COMPUTE] = np.maximum(stage.streams[COMPUTE], finish)
        del self.unfinished[source, op.name]
        return True

    def _synchronize(self, number: int, stage: Stage, step: int, place: int, op: Op) -> bool:
        if op.kind == "sync" and any(sender == number for sender, _ in self.unfinished):
            return False
        cost = self._cost(stage, step, place)
        start = stage.host
        call = start + cost / 2
        if op.kind == "sync":
            until = list(stage.streams.values())
        else:
            until = [stage.marks["step"]] if "step" in stage.marks else []
            stage.marks["step"] = stage.streams[COMPUTE]
        done = np.maximum.reduce([call + 2e3, *until]) + 3e3
        stage.host = done + cost / 4
        stage.records.append(Record(step, op, start, stage.host, call, done))
        return True

    def _host(self, stage: Stage, step: int, place: int, op: Op) -> None:
        if op.kind == "input":
            drawn = np.exp(0.3 * stage.draws[place, 1]) if self.noise.host else 1.0
            length = INPUT_NS * drawn + self.faults.input_ns[step, stage.ranks]
        else:
            length = self.faults.pause_ns[PAUSES.index(op.name), step, stage.ranks]
        start = stage.host
        stage.host = start + length
        stage.records.append(Record(step, op, start, stage.host))


def _numbered(ops: list[Op]) -> list[int]:
    """How many collectives of its group come before each operation."""
    counts: dict[str, int] = defaultdict(int)
    numbers = []
    for op in ops:
        numbers.append(counts[op.group])
        counts[op.group] += op.kind == "collective"
    return numbers
