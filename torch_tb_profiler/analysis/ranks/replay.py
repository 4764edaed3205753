"""The steps of all ranks of a job replayed with other durations.

Each rank is a chain of events (:mod:`torch_tb_profiler.analysis.ranks.segments`). A collective
starts on a rank when the rank's own time before it has passed and the collective before it in its
queue has ended; it ends for all members together, when the last has started and its data has moved.
A rank that waits for it goes on then. What is replayed is a max-plus system: longest paths.

All scenarios are replayed at once: which event depends on which does not depend on durations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.segments import RankEvent
from torch_tb_profiler.trace.columns import Float64, Int64

Times = npt.NDArray[np.float64]


class RankProgram(Struct, frozen=True, eq=False):
    """The chains of all ranks.

    Attributes:
        first: Per rank its first event, and the number of events at the end; ``[ranks + 1]``.
        event: What each is (:class:`~torch_tb_profiler.analysis.ranks.segments.RankEvent`).
        collective: Dense id of its collective; of the end of a step -1. A call that matches none of
            another rank is a collective of its own.
        step: Column of its step, ``0 … steps - 1``.
        previous: Per event that is a call the collective before it in its queue, else -1.
        members: Per collective how many events are calls of it.
        steps: Number of steps.
    """

    first: Int64
    event: Int64
    collective: Int64
    step: Int64
    previous: Int64
    members: Int64
    steps: int


class Replay(Struct, frozen=True, eq=False):
    """What replayed scenarios took.

    Attributes:
        step_end_ns: When each rank ended each step, from its start on;
            ``[scenarios, ranks, steps]``, NaN where a rank has no such step.
        unresolved: Collectives that a rank waited for though not all members had entered them: the
            recordings contradict each other, or hold different parts.
    """

    step_end_ns: Times
    unresolved: int

    @property
    def job_ns(self) -> Float64:
        """Per scenario when the last rank ended its last step."""
        ends: Float64 = np.nanmax(self.step_end_ns, axis=(1, 2))
        return ends


def replay(program: RankProgram, own_ns: Times, transfer_ns: Times) -> Replay:
    """Replay a program.

    Args:
        program: The chains.
        own_ns: Own time before each event, ``[scenarios, events]``.
        transfer_ns: How long the data of each collective moves, ``[scenarios, collectives]``.
    """
    ranks, scenarios = len(program.first) - 1, len(own_ns)
    count = len(program.members)
    clock = np.zeros((scenarios, ranks))
    latest, ended = np.zeros((scenarios, count)), np.zeros((scenarios, count + 1))
    arrived = np.zeros(count, np.int64)
    is_ended = np.append(np.zeros(count, np.bool_), True)  # the last: of no collective
    step_end = np.full((scenarios, ranks, program.steps), np.nan)
    pointer, active = program.first[:-1].copy(), np.arange(ranks)
    unresolved = 0
    patient = True
    while True:
        active = active[pointer[active] < program.first[active + 1]]
        if not len(active):
            return Replay(step_end, unresolved)
        at = pointer[active]
        event = program.event[at]
        awaited = np.where(event == RankEvent.WAIT, program.collective[at], program.previous[at])
        goes_on = is_ended[awaited]
        if not patient:
            goes_on |= event == RankEvent.CALL
        if not goes_on.any():
            if patient:
                patient = False  # two queues cross: a call need not wait for the one before it
                continue
            stuck = np.unique(awaited)
            unresolved += len(stuck)
            ended[:, stuck] = latest[:, stuck] + transfer_ns[:, stuck]
            is_ended[stuck] = True
            continue
        patient = True
        ranks_on, at, event, awaited = (
            active[goes_on],
            at[goes_on],
            event[goes_on],
            awaited[goes_on],
        )
        pointer[ranks_on] += 1
        now = clock[:, ranks_on] + own_ns[:, at]
        waits = event == RankEvent.WAIT
        now[:, waits] = np.maximum(now[:, waits], ended[:, awaited[waits]])
        clock[:, ranks_on] = now
        ends = event == RankEvent.STEP_END
        step_end[:, ranks_on[ends], program.step[at[ends]]] = now[:, ends]
        calls = event == RankEvent.CALL
        if calls.any():
            entered, before = program.collective[at[calls]], awaited[calls]
            start = np.maximum(now[:, calls], ended[:, before])
            order = np.argsort(entered, kind="stable")
            group, first = np.unique(entered[order], return_index=True)
            latest[:, group] = np.maximum(
                latest[:, group], np.maximum.reduceat(start[:, order], first, axis=1)
            )
            arrived[group] += np.diff(np.append(first, len(entered)))
            group = group[arrived[group] == program.members[group]]
            ended[:, group] = latest[:, group] + transfer_ns[:, group]
            is_ended[group] = True
