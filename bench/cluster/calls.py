"""The calls of collectives of a job, rank by rank, and how far they come when one goes wrong.

A host enqueues calls until it waits for the device at the end of a step. A call starts when the
calls before it in its stream have ended, and those before it that computation waits for. It ends
when all members of its group have started it, with the same operation and sizes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from bench.cluster.program import Op, program
from bench.cluster.topology import PIPELINE, Topology

STEPS = 3
"""Steps before a job hangs, at most."""


@dataclass(eq=False)
class Call:
    """A collective, a send or a receive that a rank calls.

    Attributes:
        op: What it is.
        group: Name of its process group.
        meets: Equal for the calls that meet: group, and a number within it.
        size: Factor of the size.
        operation: Name, if not that of ``op``.
        kind: ``collective``, ``send`` or ``receive``.
        number: Sequence number in its group, of collectives or of transfers.
        created, started, ended: Rounds of the replay, None for what did not happen.
    """

    op: Op
    group: str
    meets: tuple[object, ...]
    size: float = 1.0
    operation: str = ""
    kind: str = ""
    number: int = 0
    created: int | None = None
    started: int | None = None
    ended: int | None = None

    @property
    def stream(self) -> str:
        """What it waits for its turn in."""
        return f"{self.op.kind} {self.op.name}" if self.op.group == PIPELINE else self.op.group

    @property
    def signature(self) -> tuple[str, float]:
        """What members must agree on."""
        return self.operation or self.op.name, self.op.size * self.size


@dataclass(eq=False)
class Program:
    """What a rank calls: ``None`` stands for waiting for the device.

    Attributes:
        calls: In order.
        stops: Its host never comes to this position.
        stalls: The device never comes to this position, though its host does.
    """

    calls: list[Call | None] = field(default_factory=list)
    stops: int | None = None
    stalls: int | None = None

    def position(self, call: Call) -> int:
        """Where a call is."""
        return next(place for place, each in enumerate(self.calls) if each is call)


def programs(topology: Topology) -> list[Program]:
    """What each rank of a job calls when nothing is wrong."""
    names = {
        (dimension, rank): (row, group.name)
        for dimension, groups in topology.groups.items()
        for row, group in enumerate(groups)
        for rank in group.ranks
    }
    stages = [
        program(topology, stage, layers) for stage, layers in enumerate(topology.shape.layers)
    ]
    return [_program(topology, stages, names, rank) for rank in range(topology.shape.ranks)]


def _program(
    topology: Topology,
    stages: list[list[Op]],
    names: dict[tuple[str, int], tuple[int, str]],
    rank: int,
) -> Program:
    own = Program()
    stage = int(topology.stage[rank])
    count: dict[object, int] = defaultdict(int)
    for _ in range(STEPS):
        for op in stages[stage]:
            if op.kind in ("sync", "event"):
                own.calls.append(None)
            if op.kind not in ("collective", "send", "receive"):
                continue
            row, name = names[op.group, rank]
            if op.kind == "collective":
                pair: object = ()
            else:
                other = stage + (1 if (op.kind == "send") == (op.name == "forward") else -1)
                pair = (min(stage, other), op.name)
            key = (op.group, row, pair)
            count[key] += 1
            own.calls.append(Call(op, name, (*key, count[key]), kind=op.kind))
    return own


def participants(ranks: list[Program]) -> dict[tuple[object, ...], int]:
    """How many ranks each collective and transfer needs."""
    counts: dict[tuple[object, ...], int] = defaultdict(int)
    for rank in ranks:
        for call in rank.calls:
            if call is not None:
                counts[call.meets] += 1
    return counts


def replay(ranks: list[Program], members: dict[tuple[object, ...], int]) -> None:
    """Let the job run until nothing happens any more; notes the rounds at the calls.

    Args:
        ranks: What each rank calls.
        members: As :func:`participants` of the job without anything wrong.
    """
    _number(ranks)
    reached = [0] * len(ranks)
    started: dict[tuple[object, ...], list[Call]] = defaultdict(list)
    moment = 0
    has_moved = True
    while has_moved:
        moment += 1
        has_moved = False
        for number, rank in enumerate(ranks):
            has_moved |= _enqueue(rank, moment)
            reached[number] = _skip_ended(rank, reached[number])
            for call in _startable(rank, reached[number]):
                call.started = moment
                started[call.meets].append(call)
                has_moved = True
        for meets in list(started):
            calls = started[meets]
            if len(calls) == members[meets]:
                del started[meets]
                ends = {call.kind for call in calls} in ({"collective"}, {"send", "receive"})
                if ends and len({call.signature for call in calls}) == 1:
                    for call in calls:
                        call.ended = moment
                    has_moved = True


def _number(ranks: list[Program]) -> None:
    """Sequence numbers, as each rank counts its own calls."""
    for rank in ranks:
        counts: dict[tuple[str, bool], int] = defaultdict(int)
        for call in rank.calls:
            if call is not None:
                key = call.group, call.kind == "collective"
                counts[key] += 1
                call.number = counts[key]


def _enqueue(rank: Program, moment: int) -> bool:
    """The host calls what it can; whether it did."""
    has_moved = is_waiting = False
    for place, call in enumerate(rank.calls):
        if place == rank.stops:
            break
        if call is None:
            if is_waiting:
                break
        elif call.created is None:
            call.created = moment
            has_moved = True
        if call is not None:
            is_waiting |= call.ended is None
    return has_moved


def _skip_ended(rank: Program, place: int) -> int:
    while place < len(rank.calls) and ((call := rank.calls[place]) is None or call.ended):
        place += 1
    return place


def _startable(rank: Program, place: int) -> list[Call]:
    """The calls that start now."""
    busy: set[str] = set()
    startable = []
    for number in range(place, len(rank.calls)):
        call = rank.calls[number]
        if call is None or call.ended is not None:
            continue
        if call.created is None or number == rank.stalls:
            break
        if call.started is None and call.stream not in busy:
            startable.append(call)
        busy.add(call.stream)
        if call.op.blocks:
            break
    return startable
