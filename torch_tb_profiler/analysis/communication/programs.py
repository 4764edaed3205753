"""The programs whose recordings one folder holds: each has ranks from 0 and groups of its own.

Rollout and training of one job, two attempts of a job or two jobs may all have a rank 0 and a group
``default_pg``; their collectives are not each other's, and their ranks are no peers.

Rules: ``docs/views-ranks.md#several-programs``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.members import listed_ranks
from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.communication.offsets import components
from torch_tb_profiler.analysis.communication.program_evidence import (
    SOURCES,
    evidence_of,
    linked,
    linked_without_repeats,
    shared_counts,
    times_apart,
    worker_facts,
)
from torch_tb_profiler.analysis.communication.records import Records, records
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

_Workers = list[int]
_NUMBER = re.compile(r"\d+")


class Programs(Struct, frozen=True, eq=False):
    """The programs of the recordings of a run.

    Attributes:
        workers: Of each program, in the given order; every worker is in one.
        unassigned: Workers that may be of several programs: each is one of ``workers`` alone.
    """

    workers: list[list[str]]
    unassigned: list[str]

    def parts(self, traces: Mapping[str, Trace]) -> list[dict[str, Trace]]:
        """The recordings of each program."""
        return [{name: traces[name] for name in names} for names in self.workers]


class _LastPrograms(Struct, eq=False):
    """The last two results with the recordings they are of, a run and its first program; one
    attribute, as several threads read and write it."""

    results: tuple[tuple[Mapping[str, Records], Programs], ...] = ()


@per_split
def _last_programs(_trace: Trace) -> _LastPrograms:
    """The result cached with the first trace of a run."""
    return _LastPrograms()


def programs(traces: Mapping[str, Trace]) -> Programs:
    """The programs of some recordings; the last results are cached."""
    if len(traces) < 2:
        return Programs([list(traces)], [])
    parts = {worker: records(trace) for worker, trace in traces.items()}
    last = _last_programs(next(iter(traces.values())))
    for known, result in last.results:
        if list(known) == list(parts) and all(known[name] is parts[name] for name in parts):
            return result
    result = _Separation(traces).programs()
    last.results = ((parts, result), *last.results[:1])
    return result


class _Separation:
    """Divides workers, by their positions, into programs."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._traces = traces
        self._facts = worker_facts(traces)
        self._unassigned: _Workers = []

    def programs(self) -> Programs:
        """The result."""
        parts = [part for role in self._by_role() for part in self._of_role(role)]
        parts += [[worker] for worker in self._unassigned]
        ordered = sorted(sorted(part) for part in parts if part)
        names = list(self._traces)
        return Programs(
            [[names[worker] for worker in part] for part in ordered],
            [names[worker] for worker in sorted(self._unassigned)],
        )

    @cached_property
    def _evidence(self) -> pl.DataFrame:
        """Of all workers; computed only where declarations do not decide."""
        return evidence_of(list(self._traces.values()))

    def _by_role(self) -> list[_Workers]:
        """Workers by the roles that their names state, where several are stated and ranks appear
        twice or are not recorded."""
        whole = list(range(len(self._facts)))
        ranks = [own_rank(trace) for trace in self._traces.values()]
        if None not in ranks and len(set(ranks)) == len(ranks):
            return [whole]
        by_role = _grouped(whole, lambda worker: self._facts[worker].role)
        stated = {each.role for each in self._facts} - {None}
        return by_role if len(stated) > 1 else [whole]

    def _of_role(self, workers: _Workers) -> list[_Workers]:
        declared = [worker for worker in workers if self._facts[worker].world_size is not None]
        others = [worker for worker in workers if self._facts[worker].world_size is None]
        parts = [part for job in self._jobs(declared) for part in self._attempts(job)]
        if others and parts:
            rest = self._assigned([[worker] for worker in others], parts)
            others = [worker for piece in rest for worker in piece]
        return parts + (self._related(others) if others else [])

    def _jobs(self, workers: _Workers) -> list[_Workers]:
        """Workers by the size and the backend of the job that they declare; those that share a
        group of ranks on both sides are of one."""
        facts = self._facts
        backends: defaultdict[int | None, set[str | None]] = defaultdict(set)
        for worker in workers:
            backends[facts[worker].world_size].add(facts[worker].backend)

        def declared(worker: int) -> object:
            world, backend = facts[worker].world_size, facts[worker].backend
            # Where one backend is declared it is that of those that declare none.
            return world, backend if len(backends[world] - {None}) > 1 else None

        jobs = _grouped(workers, declared)
        if len(jobs) > 1 and self._repeats(workers) == 1:
            jobs = self._sharing_groups(jobs)
        return jobs

    def _sharing_groups(self, jobs: list[_Workers]) -> list[_Workers]:
        members: defaultdict[str, set[int]] = defaultdict(set)
        of_worker = {worker: number for number, job in enumerate(jobs) for worker in job}
        traces = list(self._traces.values())
        for worker, number in of_worker.items():
            for key in records(traces[worker]).frame["group_key"].drop_nulls().unique():
                ranks = listed_ranks(key)
                if self._facts[worker].rank in ranks:
                    members[key].add(number)
        pairs = [
            (min(each), other) for each in members.values() for other in each if other > min(each)
        ]
        lowest = components(
            pl.DataFrame(pairs, schema=["first", "second"], orient="row"), range(len(jobs))
        )
        joined = _grouped(range(len(jobs)), lambda number: lowest[number])
        return [sorted(worker for number in part for worker in jobs[number]) for part in joined]

    def _attempts(self, job: _Workers) -> list[_Workers]:
        """The programs among workers that declare the same job: attempts of it, and jobs of equal
        size in which ranks appear twice."""
        parts = self._by_time(job, is_certain=False)
        return [piece for part in parts for piece in self._without_repeats(part)]

    def _by_time(self, workers: _Workers, *, is_certain: bool) -> list[_Workers]:
        parts = times_apart(self._facts, workers, is_certain=is_certain)
        if len(parts) < 2:
            return [workers]
        undated = sorted(set(workers).difference(*parts))
        rest = self._assigned([[worker] for worker in undated], parts)
        return parts + rest

    def _without_repeats(self, job: _Workers) -> list[_Workers]:
        """Parts in which no rank appears twice; the first kind of evidence that divides counts."""
        repeats = self._repeats(job)
        if repeats == 1:
            return [job]
        parts = [job]
        ways: list[Callable[[_Workers], list[_Workers]]] = [
            lambda part: self._by_time(part, is_certain=True),
            lambda part: _grouped(part, lambda worker: self._facts[worker].versions),
            lambda part: _grouped(part, lambda worker: self._facts[worker].steps),
        ]
        # Of fewer recordings than ranks all may be of one job, whose nodes count from 0.
        is_surely_several = len(job) > (self._facts[job[0]].world_size or 0)
        if is_surely_several:
            ways += [self._joined, self._by_name]
        else:
            ways.append(lambda part: self._linked(part, ("calls", "pairs")))
        for divide in ways:
            parts = [piece for part in parts for piece in self._divided(part, divide)]
        if is_surely_several:
            mixed = [part for part in parts if self._repeats(part) > 1]
            self._unassigned += [worker for part in mixed for worker in part]
            parts = [part for part in parts if self._repeats(part) == 1]
        if len(parts) <= repeats or not any(map(self._ranks, parts)):
            return parts
        whole = self._surely_several(parts)
        return whole + self._assigned([part for part in parts if part not in whole], whole)

    def _surely_several(self, parts: list[_Workers]) -> list[_Workers]:
        """The parts that share the rank which appears most often; of several such ranks that of the
        largest parts."""
        of_rank: defaultdict[int, list[_Workers]] = defaultdict(list)
        for part in parts:
            for rank in self._ranks(part):
                of_rank[rank].append(part)
        often = [(len(each), sum(map(len, each)), -rank) for rank, each in of_rank.items()]
        return of_rank[-max(often)[2]]

    def _divided(
        self, part: _Workers, divide: Callable[[_Workers], list[_Workers]]
    ) -> list[_Workers]:
        repeats = self._repeats(part)
        if repeats == 1:
            return [part]
        pieces = divide(part)
        return pieces if max(map(self._repeats, pieces), default=repeats) < repeats else [part]

    def _by_name(self, workers: _Workers) -> list[_Workers]:
        """By the names of workers without numbers: nothing else says anything."""
        return _grouped(workers, lambda worker: _NUMBER.sub("", self._facts[worker].name))

    def _joined(self, workers: _Workers) -> list[_Workers]:
        ranks = {worker: self._facts[worker].rank for worker in workers}
        first = linked_without_repeats(self._evidence, workers, ranks)
        of_worker = dict(zip(workers, first, strict=True))
        pieces = _grouped(workers, lambda worker: of_worker[worker])
        return pieces if len(pieces) < len(workers) else [workers]

    def _linked(self, workers: _Workers, sources: Sequence[str]) -> list[_Workers]:
        first = dict(zip(workers, linked(self._evidence, workers, sources), strict=True))
        return _grouped(workers, lambda worker: first[worker])

    def _repeats(self, workers: Sequence[int]) -> int:
        """How often the most frequent rank appears; 1 where none is known."""
        ranks = Counter(self._facts[worker].rank for worker in workers)
        del ranks[None]
        return max(ranks.values(), default=1)

    def _assigned(self, pieces: list[_Workers], parts: list[_Workers]) -> list[_Workers]:
        """Add each piece to the part that it is of; returns those that share nothing with any, and
        notes the workers of those that may be of several."""
        if not pieces:
            return []
        ranks = [self._ranks(part) for part in parts]
        shared = shared_counts(self._evidence, pieces, parts)
        has_work = set(self._evidence["worker"].to_list())
        chosen: list[tuple[_Workers, int]] = []
        rest = []
        for piece, of_part in zip(pieces, shared, strict=True):
            own = self._ranks(piece)
            free = [number for number, known in enumerate(ranks) if own.isdisjoint(known)]
            likely = [number for number in free if any(of_part[number])]
            if (own and len(free) == 1) or has_work.isdisjoint(piece):
                likely = free
            best = max((of_part[number] for number in likely), default=None)
            likely = [number for number in likely if of_part[number] == best]
            if len(likely) == 1:
                chosen.append((piece, likely[0]))
            elif likely:
                self._unassigned += piece
            else:
                rest.append(piece)
        for piece, number in chosen:
            parts[number] += piece
        return rest

    def _ranks(self, workers: _Workers) -> set[int]:
        known = (self._facts[worker].rank for worker in workers)
        return {rank for rank in known if rank is not None}

    def _related(self, workers: _Workers) -> list[_Workers]:
        """Workers that declare no job of several ranks: those that share calls or work are of one
        program, at one time; a recording that holds neither belongs to the most."""
        parts = self._linked(workers, SOURCES) if len(workers) > 1 else [workers]
        parts = [piece for part in parts for piece in self._by_time(part, is_certain=False)]
        known = set(self._evidence["worker"].to_list()) if len(parts) > 1 else set()
        empty = [part for part in parts if len(parts) > 1 and known.isdisjoint(part)]
        if empty:
            parts = [part for part in parts if part not in empty] or [[]]
            max(parts, key=len).extend(worker for part in empty for worker in part)
        return parts


def _grouped(workers: Iterable[int], key: Callable[[int], object]) -> list[_Workers]:
    """Workers by a key, in the order of first appearance."""
    groups: defaultdict[object, _Workers] = defaultdict(list)
    for worker in workers:
        groups[key(worker)].append(worker)
    return list(groups.values())
