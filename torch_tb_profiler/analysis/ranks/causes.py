"""Why ranks of a job are slow: the causes, where each is, in which steps, and what it costs.

Definitions: ``docs/views-ranks.md#why-a-rank-is-slow``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.ranks.candidates import (
    CauseCandidate,
    ComparedRanks,
    of_links,
    of_reason,
    of_stages,
)
from torch_tb_profiler.analysis.ranks.costs import candidate_costs, most_costly
from torch_tb_profiler.analysis.ranks.excess import REASONS, excess
from torch_tb_profiler.analysis.ranks.job import RankJob, rank_job
from torch_tb_profiler.analysis.ranks.locations import rank_locations, rank_topology
from torch_tb_profiler.analysis.ranks.pace import pace
from torch_tb_profiler.analysis.ranks.peers import peers_of
from torch_tb_profiler.analysis.ranks.step_patterns import (
    StepPattern,
    step_pattern,
    struck_steps,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.knowledge.rank_causes import least_cost_pct, rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.rank_topology import RankTopology


class RankCause(Struct, frozen=True, eq=False):
    """A cause that makes the steps of a job longer.

    Attributes:
        cause: ``slow_device``, ``slow_host``, ``slow_input``, ``slow_link``, ``uneven_work`` or
            ``pause``.
        level: ``rank``, ``node``, ``switch``, ``stage`` or ``expert``.
        names: Where it is, at this level: numbers of ranks, stages or experts, names of nodes and
            switches. Of a slow link several if the transfers do not say which.
        ranks: The ranks it strikes, positions in :attr:`RankJob.traces`.
        is_open: Whether it is at one of ``names``, and the recordings do not say at which.
        steps: In which steps it strikes, mask.
        pattern: ``steady``, ``some steps``, ``one step`` or ``from a step on``; None where one
            step is compared.
        detail: What a pause is: ``garbage collection`` or ``checkpoint``, else None.
        variant: Which text describes it.
        values: Figures of the text.
        cost_ns: What it costs a step of the job on average, estimated.
    """

    cause: str
    level: str
    names: list[str | int]
    ranks: Int64
    is_open: bool
    steps: Bools
    pattern: StepPattern | None
    detail: str | None
    variant: str
    values: dict[str, float]
    cost_ns: float


class RankCauses(Struct, frozen=True, eq=False):
    """Why the ranks of a job are slow.

    Attributes:
        job: The job.
        causes: Most expensive first.
        is_replayed: Whether costs are of a replay of all ranks; else the own excess of the ranks,
            since they share no collective, or their recordings contradict each other.
    """

    job: RankJob
    causes: list[RankCause]
    is_replayed: bool


class _LastCauses(Struct, eq=False):
    """The last result of :func:`rank_causes` with the matching it follows from, which is another
    object as soon as a trace of the run is, and with the topology, which is read for each request;
    one attribute, as several threads read and write it."""

    result: tuple[Matching, RankTopology, RankCauses | None] | None = None


@per_split
def _last_causes(_trace: Trace) -> _LastCauses:
    """The result cached with the first trace of a run."""
    return _LastCauses()


def rank_causes(
    traces: Mapping[str, Trace], selection: Selection, given: str | None = None
) -> RankCauses | None:
    """Why the ranks of a job are slow, or None where fewer than two have a whole selected step; the
    last result for whole recordings is cached.

    Args:
        traces: The recordings of the job, or their summaries.
        selection: Which steps.
        given: The parallel strategy as people give it.

    Raises:
        SelectionError: steps are malformed, or no worker has them; a strategy that is none.
    """
    if not traces or not selection.is_everything or given is not None:
        return _rank_causes(traces, selection, given)
    first = next(iter(in_rank_order(traces).values()))
    matching, topology, last = match(traces), rank_topology(first), _last_causes(first)
    if last.result is None or last.result[0] is not matching or last.result[1] != topology:
        last.result = (matching, topology, _rank_causes(traces, selection, None))
    return last.result[2]


def causes_by_program(
    traces: Mapping[str, Trace], selection: Selection, given: str | None = None
) -> list[RankCauses]:
    """:func:`rank_causes` of each program that the recordings are of and that has the steps.

    Raises:
        SelectionError: steps are malformed, or no worker has them; a strategy that is none, or does
            not fit a program.
    """
    windows = selected_windows(traces, selection)
    parts = [part for part in programs(traces).parts(traces) if not windows.keys().isdisjoint(part)]
    known = [rank_causes(part, selection, given) for part in parts]
    return [causes for causes in known if causes is not None]


def _rank_causes(
    traces: Mapping[str, Trace], selection: Selection, given: str | None
) -> RankCauses | None:
    job = rank_job(traces, selection)
    if job is None or len(job.traces) < 2:
        return None
    peers = peers_of(job.traces, given)
    speeds = pace(job, peers.group)
    locations = rank_locations(job.traces)
    above = excess(job, peers, speeds, locations["node"])
    ranks = ComparedRanks(job, peers, speeds, above, locations)
    candidates = [candidate for reason in REASONS for candidate in of_reason(reason, ranks)]
    return _priced(job, candidates + of_stages(ranks) + of_links(ranks))


def _priced(job: RankJob, candidates: list[CauseCandidate]) -> RankCauses:
    """The candidates that cost enough, with what each costs a step where no other strikes."""
    least_ns = rank_causes_file().limits.least_cost_pct / 100 * job.step_ns
    candidates = most_costly(job, candidates, least_ns)
    costs, is_replayed = candidate_costs(job, candidates)
    causes = [
        _cause(each, cost)
        for each, cost in zip(candidates, costs.tolist(), strict=True)
        if cost >= _least_pct(job, each) / 100 * job.step_ns
    ]
    causes.sort(key=lambda each: -each.cost_ns)
    return RankCauses(job, causes, is_replayed)


def _least_pct(job: RankJob, candidate: CauseCandidate) -> float:
    is_certain = candidate.cause == "slow_device" or candidate.detail is not None
    return least_cost_pct(len(job.steps), is_certain=is_certain)


def _cause(candidate: CauseCandidate, cost_ns: float) -> RankCause:
    steps = struck_steps(candidate.excess_ns[candidate.ranks])
    return RankCause(
        candidate.cause,
        candidate.level,
        candidate.names,
        candidate.ranks,
        candidate.cause == "slow_link" and len(candidate.names) > 1,
        steps,
        step_pattern(steps),
        candidate.detail,
        candidate.variant,
        candidate.values,
        cost_ns,
    )
