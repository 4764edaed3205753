"""Flight-recorder dumps of made-up jobs in which one thing is planted.

The job is carried out by a small simulation of blocking or asynchronous collectives, so that what
each rank entered, started and completed follows from the planted fault alone.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

START_NS = 1_790_000_000_000_000_000
FAULTS = ("sleep", "skip", "sizes", "types", "operation", "order", "die", "slow_device", "none")
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")


class Op(Struct, frozen=True):
    """A collective of the program: the group is a position in ``Job.groups``."""

    group: int
    operation: str
    size: int
    dtype: str = "Float"


class Job(Struct):
    """A job and what is planted in it.

    Attributes:
        ranks: Number of ranks.
        groups: Members of each group; the first has all ranks.
        fault: One of :data:`FAULTS`.
        rank: The rank with the fault; -1 for none.
        group, sequence: The collective of it, as torch counts; of ``order`` one of the two.
        dumps: Rank → content of its dump; a dead rank has none.
    """

    ranks: int
    groups: list[list[int]]
    fault: str
    rank: int
    group: int
    sequence: int
    dumps: dict[int, dict[str, Any]]


def entry(record: int, **values: Any) -> dict[str, Any]:
    """An entry as torch 2.10 of the format writes it."""
    return {
        "frames": [
            {"name": "wrapper", "filename": "/site-packages/torch/distributed/c10d.py", "line": 83},
            {"name": "step", "filename": "/home/me/train.py", "line": 41},
        ],
        "record_id": record,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": 1,
        "p2p_seq_id": 0,
        "op_id": record + 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": START_NS + record * 1_000_000,
        "input_sizes": [[8]],
        "input_dtypes": ["Float"],
        "output_sizes": [[8]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
    } | values


def dump(entries: list[dict[str, Any]], groups: dict[str, tuple[str, list[int]]]) -> dict[str, Any]:
    """The content of a dump; ``groups`` is name → (purpose, members)."""
    return {
        "version": "2.10",
        "pg_config": {
            name: {"name": name, "desc": text, "ranks": str(members)}
            for name, (text, members) in groups.items()
        },
        "comm_lib_version": "2.27.5",
        "pg_status": {},
        "entries": entries,
    }


def open_dump(content: dict[str, Any], rank: int, *, as_json: bool = False) -> Trace:
    """The trace of a dump."""
    data = json.dumps(content).encode() if as_json else pickle.dumps(content, 2)
    name = f"fr_trace_rank_{rank}{'.json' if as_json else ''}"
    return build_trace(import_source(Source(name, [data])))


def open_job(job: Job) -> dict[str, Trace]:
    """The traces of a job by worker."""
    return {f"rank_{rank}": open_dump(content, rank) for rank, content in job.dumps.items()}


def open_folder(folder: Path) -> dict[str, Trace]:
    """The traces of the pickled dumps in a folder."""
    return {
        path.name: build_trace(
            import_source(Source(path.name, [path.read_bytes()], path=str(path)))
        )
        for path in sorted(folder.glob("fr_trace_rank_*"))
    }


def planted(seed: int, fault: str) -> Job:
    """A random job with one fault."""
    some = Random(f"{seed} {fault}")
    ranks = some.choice([4, 6, 8, 12])
    inner = some.choice([size for size in (2, 3, 4) if ranks % size == 0])
    groups = [list(range(ranks))]
    groups += [list(range(at, at + inner)) for at in range(0, ranks, inner)]
    rows = range(1, len(groups))
    groups += [list(range(at, ranks, inner)) for at in range(inner) if inner < ranks]
    program = _program(some, [[0], list(rows), list(range(len(rows) + 1, len(groups)))])
    rank = some.randrange(ranks)
    own = [position for position, op in enumerate(program) if rank in groups[op.group]]
    at = some.choice(own[len(own) // 2 :])
    programs: list[list[Op | None]] = [
        [op if each in groups[op.group] else None for op in program] for each in range(ranks)
    ]
    job = Job(ranks, groups, fault, rank, program[at].group, 0, {})
    stop: dict[int, int] = {}
    if fault == "none":
        job.rank = -1
    elif fault in ("sleep", "die"):
        stop[rank] = at
    elif fault in ("skip", "sizes", "types", "operation"):
        at = _in_large_group(some, programs, groups, rank, at)
        job.group = at and programs[rank][at].group  # type: ignore[union-attr]
        changed = programs[rank][at]
        assert changed is not None
        job.group = changed.group
        if fault == "sizes":
            programs[rank][at] = Op(changed.group, changed.operation, changed.size + 3)
        elif fault == "types":
            programs[rank][at] = Op(changed.group, changed.operation, changed.size, "BFloat16")
        elif fault == "operation":
            other = some.choice([each for each in OPERATIONS if each != changed.operation])
            programs[rank][at] = Op(changed.group, other, changed.size)
        else:  # what follows it in the group comes in its place
            programs[rank][at] = Op(changed.group, changed.operation, changed.size + 5)
    elif fault == "order":
        _swap(some, programs, groups, job)
        at = -1
    lookahead = 1 if fault == "order" else some.choice([1, 1, 3])
    if fault == "slow_device":
        stop[rank] = -1
    _simulate(job, programs, stop, at, lookahead)
    if at >= 0:
        job.sequence = 1 + sum(op.group == program[at].group for op in program[:at])
    if fault == "die":
        del job.dumps[rank]
    return job


def _program(some: Random, kinds: list[list[int]]) -> list[Op]:
    """Collectives of all ranks, of the rows or of the columns, each of a size of its own."""
    program: list[Op] = []
    for number in range(some.randint(6, 14)):
        operation, size = some.choice(OPERATIONS), 16 * (number + 1)
        program += [Op(group, operation, size) for group in some.choice([k for k in kinds if k])]
    return program


def _in_large_group(
    some: Random, programs: list[list[Op | None]], groups: list[list[int]], rank: int, at: int
) -> int:
    """A call of the rank in a group of at least three, so that most members agree."""
    large = [
        position
        for position, op in enumerate(programs[rank])
        if op is not None and len(groups[op.group]) >= 3
    ]
    return some.choice(large) if large else at


def _swap(some: Random, programs: list[list[Op | None]], groups: list[list[int]], job: Job) -> None:
    """Append two calls of groups that share two ranks, in another order on one of them."""
    inner = next(group for group in range(1, len(groups)) if job.rank in groups[group])
    other = next(rank for rank in groups[inner] if rank != job.rank)
    calls = [Op(0, "all_reduce", 7), Op(inner, "all_gather", 9)]
    for rank, program in enumerate(programs):
        order = calls[::-1] if rank == job.rank else calls
        program += [op if rank in groups[op.group] else None for op in order]
    job.group = some.choice([0, inner])
    assert other in groups[inner]


def _simulate(
    job: Job, programs: list[list[Op | None]], stop: dict[int, int], at: int, lookahead: int
) -> None:
    """Carry out the programs and write the dumps.

    A rank calls the next collective while fewer than ``lookahead`` of its calls are open, and its
    device works on them in order. A collective completes when the devices of all members are at it,
    with calls that fit.
    """
    calls: list[list[tuple[Op, int]]] = [[] for _ in range(job.ranks)]  # with sequence numbers
    done = [0] * job.ranks
    position = [0] * job.ranks
    created: list[list[int]] = [[] for _ in range(job.ranks)]
    clock = 0
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while position[rank] < len(program) and len(calls[rank]) - done[rank] < lookahead:
                if stop.get(rank) == position[rank]:
                    break
                op = program[position[rank]]
                position[rank] += 1
                if op is not None:
                    clock += 1
                    number = 1 + sum(each.group == op.group for each, _ in calls[rank])
                    calls[rank].append((op, number))
                    created[rank].append(clock)
                    moved = True
        for group, members in enumerate(job.groups):
            heads = [
                calls[rank][done[rank]] if done[rank] < len(calls[rank]) else None
                for rank in members
            ]
            waits_for_device = job.fault == "slow_device" and job.rank in members
            if None in heads or len(set(heads)) > 1 or heads[0][0].group != group:  # type: ignore[index]
                continue
            if waits_for_device and _reaches(programs[job.rank], done[job.rank], at):
                continue
            for rank in members:
                done[rank] += 1
            moved = True
    for rank in range(job.ranks):
        timed_calls = list(zip(calls[rank], created[rank], strict=True))
        job.dumps[rank] = _content(job, rank, timed_calls, done[rank])


def _content(
    job: Job, rank: int, timed_calls: list[tuple[tuple[Op, int], int]], done: int
) -> dict[str, Any]:
    """The dump of a rank whose device completed the first ``done`` of its calls."""
    is_slow = job.fault == "slow_device" and rank == job.rank
    names = {str(g): ("default_pg" if g == 0 else f"group{g}") for g in range(len(job.groups))}
    entries = []
    for index, ((op, number), time) in enumerate(timed_calls):
        state = "completed" if index < done else "scheduled"
        if index == done and not is_slow:
            state = "started"
        entries.append(
            entry(
                index,
                pg_id=op.group,
                process_group=(str(op.group), names[str(op.group)]),
                collective_seq_id=number,
                profiling_name=f"nccl:{op.operation}",
                time_created_ns=START_NS + time * 1_000_000,
                input_sizes=[[op.size]],
                output_sizes=[[op.size]],
                input_dtypes=[op.dtype],
                output_dtypes=[op.dtype],
                state=state,
                retired=state == "completed",
                time_discovered_started_ns=None if state == "scheduled" else START_NS + time,
            )
        )
    listed = {
        str(group): (names[str(group)], members)
        for group, members in enumerate(job.groups)
        if rank in members
    }
    return dump(entries, listed)


def _reaches(program: list[Op | None], done: int, at: int) -> bool:
    """Whether the next call that the device of a rank works on is that at a position."""
    own = [position for position, op in enumerate(program) if op is not None]
    return done < len(own) and own[done] == at
