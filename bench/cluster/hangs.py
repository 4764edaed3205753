"""What makes a job hang: where, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cluster.calls import Call, Program, participants, programs, replay
from bench.cluster.shape import draw
from bench.cluster.topology import DATA, EXPERT, TENSOR, Topology

HANGS = ("stuck", "skipped", "size", "operation", "order", "dead", "transfer", "computing")
"""A rank never calls; leaves a call out; calls with another size; calls something else; calls two
groups in another order; dies; receives where it should send; has called, but its device is still
busy."""


@dataclass
class Hang:
    """A job that hangs.

    Attributes:
        kind: One of ``HANGS``.
        topology: The job.
        ranks: What each rank calls, with how far it came.
        rank: Whose fault it is.
        call: The call that it is about.
        other: The call that it came to instead, of ``order``.
        collective: Sequence number of ``call`` in its group, of its kind.
        without: Ranks whose dumps are missing.
    """

    kind: str
    topology: Topology
    ranks: list[Program]
    rank: int
    call: Call
    other: Call | None
    collective: int
    without: tuple[int, ...]


def make_hanging_job(seed: int, ranks: int, kind: str) -> Hang:
    """A job that hangs in a way, or in a ``random`` one.

    Raises:
        ValueError: no job of so many ranks was drawn that can.
    """
    chance = np.random.default_rng((seed, ranks, 8))
    chosen = str(chance.choice(HANGS)) if kind == "random" else kind
    needs = {"transfer": frozenset({"pipeline"})}.get(chosen, frozenset())
    for _ in range(400):
        topology = Topology(draw(chance, ranks, needs))
        if (hang := make_hang(chosen, topology, chance)) is not None:
            return hang
    raise ValueError(f"no job of {ranks} ranks with {kind} (seed {seed})")


def make_hang(kind: str, topology: Topology, chance: np.random.Generator) -> Hang | None:
    """A job that hangs; None where the shape of the job, or the place drawn, has no such hang."""
    ranks = programs(topology)
    needed = participants(ranks)
    rank = int(chance.integers(len(ranks)))
    own = ranks[rank]
    call = _choose(kind, topology, own, chance)
    if call is None:
        return None
    collective = _count(own, call)
    other = _next_other(topology, own, call) if kind == "order" else None
    _break(kind, ranks, rank, call, other)
    replay(ranks, needed)
    if all(each.ended for program in ranks for each in program.calls if each is not None):
        return None  # it went on: a host that was to stop was never reached
    without = {rank} if kind == "dead" else set()
    if kind != "dead" and chance.random() < 0.25:
        others = np.setdiff1d(np.arange(len(ranks)), [rank])
        without |= set(chance.choice(others, int(chance.integers(1, 4)), replace=False).tolist())
    return Hang(kind, topology, ranks, rank, call, other, collective, tuple(sorted(without)))


def _choose(
    kind: str, topology: Topology, own: Program, chance: np.random.Generator
) -> Call | None:
    """The call at which it happens: not in the first step, so that something came before."""
    calls = [each for each in own.calls if each is not None]
    calls = calls[len(calls) // 3 :]
    if kind == "transfer":
        calls = [each for each in calls if each.kind == "send"]
    else:
        calls = [each for each in calls if each.op.group in (TENSOR, DATA, EXPERT)]
    if kind == "size":  # members of an all_to_all may well pass different sizes
        calls = [each for each in calls if each.op.name != "all_to_all"]
    if kind == "order":
        calls = [each for each in calls if _next_other(topology, own, each) is not None]
    if kind == "skipped":
        calls = [each for each in calls if _differs(own, each)]
    return calls[int(chance.integers(len(calls)))] if calls else None


def _count(own: Program, call: Call) -> int:
    """The sequence number of a call."""
    before = own.calls[: own.position(call) + 1]
    is_collective = call.kind == "collective"
    return sum(
        each is not None
        and each.group == call.group
        and (each.kind == "collective") == is_collective
        for each in before
    )


def _next_other(topology: Topology, own: Program, call: Call) -> Call | None:
    """The next call that computation waits for, if it is a collective of another group that has
    more members in common with the first: calling both in the other order is a deadlock."""
    if not call.op.blocks:
        return None
    for other in own.calls[own.position(call) + 1 :]:
        if other is not None and other.op.blocks:
            first, second = (_members(topology, each) for each in (call, other))
            is_other = other.kind == "collective" and other.group != call.group
            return other if is_other and len(first & second) > 1 else None
    return None


def _members(topology: Topology, call: Call) -> set[int]:
    groups = topology.groups[call.op.group]
    return set(next(group.ranks for group in groups if group.name == call.group))


def _differs(own: Program, call: Call) -> bool:
    """Whether the next call of the group is another one, so that leaving this out shows there."""
    later = own.calls[own.position(call) + 1 :]
    for each in later:
        if each is not None and each.group == call.group:
            return (each.op.name, each.op.size) != (call.op.name, call.op.size)
    return False


def _break(kind: str, ranks: list[Program], rank: int, call: Call, other: Call | None) -> None:
    own = ranks[rank]
    place = own.position(call)
    if kind in ("stuck", "dead"):
        own.stops = place
    elif kind == "computing":
        own.stalls = place
    elif kind == "transfer":
        call.kind = "receive"
    elif kind == "size":
        call.size = 2.0
    elif kind == "operation":
        call.operation = "broadcast" if call.op.name != "all_to_all" else "all_gather"
    elif kind == "skipped":
        _skip(own, place, call)
    elif other is not None:
        _swap(ranks, rank, call, other)


def _swap(ranks: list[Program], rank: int, call: Call, other: Call) -> None:
    """One rank comes to the later call first and waits in it, the others in the earlier one."""
    own = ranks[rank]
    own.calls.remove(other)
    place = own.position(call)
    own.calls.insert(place, other)
    own.stops = place + 1
    for number, program in enumerate(ranks):
        if number == rank:
            continue
        waits = False
        for position, each in enumerate(program.calls):
            waits |= each is not None and each.meets == call.meets
            if waits and each is not None and each.meets == other.meets:
                program.stops = position


def _skip(own: Program, place: int, call: Call) -> None:
    """Leave a call out: every later one of the group meets the one before it."""
    meets = call.meets
    del own.calls[place]
    for each in own.calls[place:]:
        if each is not None and each.group == call.group and each.kind == call.kind:
            each.meets, meets = meets, each.meets


def is_decidable(hang: Hang) -> bool:
    """Whether the dumps that are there hold the answer: that of the rank, unless it died, and that
    of another member of the group, which waits in the call."""
    if hang.kind != "dead" and hang.rank in hang.without:
        return False
    groups = hang.topology.groups[hang.call.op.group]
    members = next(group.ranks for group in groups if group.name == hang.call.group)
    return bool(set(members) - {hang.rank, *hang.without})
