"""A replay is what following every rank's events one by one gives."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from torch_tb_profiler.analysis.ranks.replay import RankProgram, replay
from torch_tb_profiler.analysis.ranks.segments import RankEvent

Chain = list[tuple[RankEvent, int, float]]
"""Events of a rank: what, collective (or step), own time before it."""


def program_of(chains: list[Chain], queues: list[dict[int, int]], steps: int) -> RankProgram:
    """Queues: per rank the collective before each in its queue."""
    first = np.cumsum([0, *map(len, chains)])
    rows = [(rank, *event) for rank, chain in enumerate(chains) for event in chain]
    is_end = [event == RankEvent.STEP_END for _, event, _, _ in rows]
    collective = [-1 if end else row[2] for row, end in zip(rows, is_end, strict=True)]
    previous = [queues[row[0]].get(row[2], -1) if row[1] == RankEvent.CALL else -1 for row in rows]
    calls = [row[2] for row in rows if row[1] == RankEvent.CALL]
    return RankProgram(
        first,
        np.array([row[1] for row in rows], np.int64),
        np.array(collective, np.int64),
        np.array([row[2] if end else 0 for row, end in zip(rows, is_end, strict=True)], np.int64),
        np.array(previous, np.int64),
        np.bincount(calls, minlength=max(calls, default=-1) + 1),
        steps,
    )


def followed(
    chains: list[Chain], queues: list[dict[int, int]], transfer: list[float]
) -> list[list[float]]:
    """Per rank the ends of its steps, by recursion over what each event depends on."""
    callers: dict[int, list[int]] = {}
    for rank, chain in enumerate(chains):
        for event, collective, _ in chain:
            if event == RankEvent.CALL:
                callers.setdefault(collective, []).append(rank)

    known: dict[tuple[int, int], float] = {}

    def at(rank: int, number: int) -> float:
        if number < 0:
            return 0.0
        if (rank, number) not in known:
            event, collective, own = chains[rank][number]
            now = at(rank, number - 1) + own
            known[rank, number] = max(now, end(collective)) if event == RankEvent.WAIT else now
        return known[rank, number]

    ends: dict[int, float] = {}

    def end(collective: int) -> float:
        if collective not in ends:
            starts = []
            for rank in callers[collective]:
                number = next(
                    n
                    for n, (event, other, _) in enumerate(chains[rank])
                    if event == RankEvent.CALL and other == collective
                )
                before = queues[rank].get(collective)
                starts.append(max(at(rank, number), end(before) if before is not None else 0.0))
            ends[collective] = max(starts) + transfer[collective]
        return ends[collective]

    return [
        [at(rank, n) for n, (event, _, _) in enumerate(chain) if event == RankEvent.STEP_END]
        for rank, chain in enumerate(chains)
    ]


def job(seed: int) -> tuple[list[Chain], list[dict[int, int]], list[float], int]:
    chance = random.Random(seed)
    ranks, steps, count = chance.randint(1, 6), chance.randint(1, 3), chance.randint(0, 14)
    chains: list[Chain] = [[] for _ in range(ranks)]
    queues: list[dict[int, int]] = [{} for _ in range(ranks)]
    last: list[int | None] = [None] * ranks
    pending: list[list[int]] = [[] for _ in range(ranks)]
    collective = 0
    for step in range(steps):
        for _ in range(count):
            for rank in chance.sample(range(ranks), chance.randint(1, ranks)):
                chains[rank].append((RankEvent.CALL, collective, chance.uniform(0, 10)))
                if last[rank] is not None and chance.random() < 0.7:
                    queues[rank][collective] = last[rank]  # type: ignore[assignment]
                last[rank] = collective
                pending[rank].append(collective)
            collective += 1
            for rank in range(ranks):
                if pending[rank] and chance.random() < 0.5:
                    awaited = pending[rank].pop(chance.randrange(len(pending[rank])))
                    chains[rank].append((RankEvent.WAIT, awaited, chance.uniform(0, 10)))
        for rank in range(ranks):
            chains[rank].append((RankEvent.STEP_END, step, chance.uniform(0, 5)))
    return chains, queues, [chance.uniform(0, 8) for _ in range(collective)], steps


@pytest.mark.parametrize("seed", range(60))
def test_the_ends_of_the_steps(seed: int) -> None:
    chains, queues, transfer, steps = job(seed)
    program = program_of(chains, queues, steps)
    own = np.array([own for chain in chains for _, _, own in chain])
    faster = own * 0.5
    result = replay(program, np.stack((own, faster)), np.array([transfer, transfer]))
    assert result.unresolved == 0
    np.testing.assert_allclose(result.step_end_ns[0], followed(chains, queues, transfer))
    halved = [[(event, what, time * 0.5) for event, what, time in chain] for chain in chains]
    np.testing.assert_allclose(result.step_end_ns[1], followed(halved, queues, transfer))


def test_recordings_that_contradict_each_other_are_counted() -> None:
    chains: list[Chain] = [
        [
            (RankEvent.CALL, 0, 1.0),
            (RankEvent.WAIT, 0, 0.0),
            (RankEvent.CALL, 1, 1.0),
            (RankEvent.STEP_END, 0, 1),
        ],
        [
            (RankEvent.CALL, 1, 1.0),
            (RankEvent.WAIT, 1, 0.0),
            (RankEvent.CALL, 0, 1.0),
            (RankEvent.STEP_END, 0, 1),
        ],
    ]
    program = program_of(chains, [{}, {}], 1)
    own = np.array([[own for chain in chains for _, _, own in chain]])
    result = replay(program, own, np.ones((1, 2)))
    assert result.unresolved > 0
    assert np.isfinite(result.step_end_ns).all()


def test_many_ranks_take_seconds() -> None:
    ranks, calls = 1024, 500
    chain: Chain = []
    for number in range(calls):
        chain += [(RankEvent.CALL, number, 1.0), (RankEvent.WAIT, number, 0.0)]
    chain.append((RankEvent.STEP_END, 0, 1.0))
    one = program_of([chain], [{}], 1)
    program = RankProgram(
        np.arange(ranks + 1) * len(chain),
        np.tile(one.event, ranks),
        np.tile(one.collective, ranks),
        np.tile(one.step, ranks),
        np.tile(one.previous, ranks),
        one.members * ranks,
        1,
    )
    own = np.ones((2, ranks * len(chain)))
    started = time.monotonic()
    result = replay(program, own, np.ones((2, calls)))
    assert time.monotonic() - started < 20
    assert result.job_ns[0] == calls * 2 + 1
