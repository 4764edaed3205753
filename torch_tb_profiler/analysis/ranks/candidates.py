"""Differences between ranks that may be causes: outliers among peers, stages, links."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.excess import REASONS, Excess
from torch_tb_profiler.analysis.ranks.expert_work import above_even, with_partners
from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.larger_transfers import larger_transfers
from torch_tb_profiler.analysis.ranks.levels import SlowGroup, group_ranks
from torch_tb_profiler.analysis.ranks.links import (
    LinkUnits,
    Suspect,
    cut_off_nodes,
    link_units,
    suspect,
)
from torch_tb_profiler.analysis.ranks.pace import Pace
from torch_tb_profiler.analysis.ranks.peers import Peers, spread, unsteadiness, with_replicas
from torch_tb_profiler.analysis.ranks.stages import stage_excess
from torch_tb_profiler.analysis.ranks.step_patterns import step_pattern, struck_steps
from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

NO_RANKS = np.empty(0, np.int64)

MAX_LINKS = 5
"""So many slow ends are searched for."""


class ComparedRanks(Struct, frozen=True, eq=False):
    """The ranks of a job, compared.

    Attributes:
        job: The job.
        peers: With whom each is compared.
        speeds: How fast each computes.
        above: What each takes longer than its peers.
        locations: Where each ran.
    """

    job: RankJob
    peers: Peers
    speeds: Pace
    above: Excess
    locations: pl.DataFrame


class CauseCandidate(Struct, frozen=True, eq=False):
    """A cause before its cost is known.

    Attributes:
        cause, level, names, ranks, detail, variant, values: As of
            :class:`~torch_tb_profiler.analysis.ranks.causes.RankCause`.
        excess_ns: What the ranks and their partners take longer, ``[ranks of the job, steps]``.
        drained_ns: The part of it that their hosts are late for after a stop; else None.
        calls: Of a slow link the collectives that take longer, of uneven work those that move
            more: ``collective``, ``transfer_ns``, ``usual_ns``; else None.
        partners: Other ranks that take longer as they get work of ``ranks``.
    """

    cause: str
    level: str
    names: list[str | int]
    ranks: Int64
    excess_ns: Float64
    detail: str | None
    variant: str
    values: dict[str, float]
    drained_ns: Float64 | None = None
    calls: pl.DataFrame | None = None
    partners: Int64 = NO_RANKS

    @property
    def held_up(self) -> Int64:
        """All ranks whose own time it makes longer."""
        return np.concatenate((self.ranks, self.partners))


def of_reason(reason: str, ranks: ComparedRanks) -> list[CauseCandidate]:
    """The candidates of one reason: ranks that exceed their peers, joined where all of a node,
    switch or expert do."""
    job, peers, above = ranks.job, ranks.peers, ranks.above
    values = above.by_reason[reason]
    if reason == "uneven_work":
        return _of_uneven_work(ranks, np.where(peers.is_comparable[:, None], values, 0.0))
    slow = _outliers(values, job)
    groups = group_ranks(reason, slow, values, peers.coordinates, ranks.locations)
    return [_candidate(reason, group, ranks, values) for group in groups]


def _of_uneven_work(ranks: ComparedRanks, values: Float64) -> list[CauseCandidate]:
    """Ranks with more to do; ``values``: what each computes longer than comparable peers."""
    slow = _outliers(values, ranks.job)
    if not slow.any():
        return []
    of_experts = _is_of_experts(ranks.above, values)
    coordinates = with_replicas(ranks.peers.coordinates, ranks.job.traces)
    exchange = coordinates["exchange"]
    larger, routed = (
        group_ranks(shared_by, some, values, coordinates, ranks.locations)
        for shared_by, some in (("uneven_work", slow & ~of_experts), ("experts", slow & of_experts))
    )
    partners, routed = with_partners(larger, routed, exchange)
    uneven = above_even(values, ranks.speeds.varying_ns, exchange)
    return [
        *(
            _candidate("uneven_work", group, ranks, values, others)
            for group, others in zip(larger, partners, strict=True)
        ),
        *(
            _candidate("uneven_work", group, ranks, uneven)
            for group in routed
            if uneven[group.ranks].any()
        ),
    ]


def _is_of_experts(above: Excess, values: Float64) -> Bools:
    """Of which ranks most of what they compute longer is in kernels of experts."""
    share = above.expert_ns.sum(axis=1) / np.maximum(values.sum(axis=1), 1.0) * 100
    mask: Bools = share >= rank_causes_file().limits.experts_pct
    return mask


def _outliers(values: Float64, job: RankJob) -> Bools:
    """Which ranks exceed their peers, over all steps or in some."""
    limits = rank_causes_file().limits
    step_ns = job.step_ns
    mean = values.mean(axis=1)
    # Of few ranks the lower half may agree by chance: how a rank differs from step to step counts.
    unsteady = unsteadiness(values)
    of_mean = limits.mean_deviations * unsteady / np.sqrt(values.shape[1])
    by_chance = max(limits.deviations * spread(mean), of_mean)
    steady = mean > max(limits.least_excess_pct / 100 * step_ns, by_chance)
    least_ns = limits.least_step_excess_pct / 100 * step_ns
    # Some steps scatter more than others: the first of a recording, for example.
    spreads = np.array([max(spread(column), unsteady) for column in values.T])
    at_times = values > np.maximum(least_ns, limits.deviations * spreads)
    outliers: Bools = steady | at_times.any(axis=1)
    return outliers


def _candidate(
    reason: str,
    group: SlowGroup,
    ranks: ComparedRanks,
    values: Float64,
    partners: Int64 = NO_RANKS,
) -> CauseCandidate:
    job, speeds, above = ranks.job, ranks.speeds, ranks.above
    chosen = np.zeros_like(values)
    chosen[group.ranks] = values[group.ranks]
    total = max(float(chosen.sum()), 1.0)
    chosen[partners] = values[partners]
    cause, detail, level, variant = reason, None, group.level, "default"
    steps = struck_steps(chosen[group.ranks])
    if reason == "pause":
        collected = np.nansum(job.collection_ns[group.ranks])
        paused = max(float(np.nansum(job.own_ns["pause"][group.ranks])), 1.0)
        detail = "garbage collection" if collected * 2 >= paused else "checkpoint"
        variant = "collection" if collected * 2 >= paused else "checkpoint"
    if speeds.is_host and reason == "slow_device":
        cause, variant = "slow_host", "computes"
    if speeds.is_host and reason == "slow_host":
        variant = "between"
    if reason == "slow_host" and step_pattern(steps) != "steady":
        share = float(above.gap_ns[group.ranks].sum()) / total * 100
        if share >= rank_causes_file().limits.one_gap_pct:
            cause, variant = "pause", "gap"
    if reason == "uneven_work":
        is_of_experts = _is_of_experts(above, values)[group.ranks].all()
        variant = "experts" if is_of_experts else "operators" if speeds.is_host else "default"
    part = job.own_ns[REASONS[reason]][group.ranks]
    figures = {
        "excess_ns": float(chosen[group.ranks].mean()),
        "own_ns": float(np.nanmean(part)),
        "usual_ns": max(float(np.nanmean(part)) - float(chosen[group.ranks].mean()), 0.0),
        "slower_pct": (float(np.nanmean(speeds.longer[group.ranks][:, steps])) - 1) * 100,
    }
    drained = above.drained_ns.get(reason)
    moved = larger_transfers(job, ranks.peers, group.ranks) if reason == "uneven_work" else None
    return CauseCandidate(
        cause, level, group.names, group.ranks, chosen, detail, variant, figures, drained, moved,
        partners,
    )  # fmt: skip


def of_stages(ranks: ComparedRanks) -> list[CauseCandidate]:
    """The stage of a pipeline that has more to do than the others, if there is one."""
    stage = ranks.peers.coordinates["pipeline"]
    more = stage_excess(ranks.job, stage, ranks.speeds)
    if more is None:
        return []
    return [
        CauseCandidate(
            "uneven_work", "stage", [more.stage], more.ranks, more.excess_ns, None, "stage",
            {
                "more_pct": more.more_pct,
                "excess_ns": float(more.excess_ns[more.ranks].mean()),
                "second": float(more.second),
            },
        )
    ]  # fmt: skip


def of_links(ranks: ComparedRanks) -> list[CauseCandidate]:
    """The ends whose links are slow."""
    job, locations = ranks.job, ranks.locations
    units = link_units(job, locations["node"], locations["switch"])
    slow = units.slow(job.step_ns)
    remaining: Bools = np.asarray(slow.any(axis=1))
    levels = [("rank", pl.Series(range(len(job.traces)))), ("node", locations["node"])]
    switches = [locations["switch"]]
    if locations["switch"].null_count():
        switches = cut_off_nodes(units, remaining, locations["node"])
    levels += [("switch", names) for names in switches]
    candidates: list[CauseCandidate] = []
    while remaining.any() and len(candidates) < MAX_LINKS:
        end = suspect(units, remaining, levels)
        if end is None or len(end.ranks) == len(job.traces):  # of all ranks: nothing is elsewhere
            break
        candidates.append(_slow_link(job, units, slow, end))
        remaining = remaining & ~end.units
    return candidates


def _slow_link(job: RankJob, units: LinkUnits, slow: Bools, end: Suspect) -> CauseCandidate:
    excess_ns = np.zeros_like(job.duration_ns)
    steps = np.asarray(slow[end.units].any(axis=0))
    excess_ns[end.ranks] = np.where(steps, units.excess_ns[end.units].max(axis=0), 0.0)
    chosen = units.calls.filter(pl.col("unit").is_in(np.flatnonzero(end.units)))
    chosen = chosen.filter(pl.Series(steps[chosen["step"].to_numpy()]))
    names = end.names
    if end.level == "rank":
        names = [job.numbers[row] for row in end.ranks.tolist()]
    return CauseCandidate(
        "slow_link", end.level, names, end.ranks, excess_ns, None,
        {None: "default", True: "within", False: "between"}[end.is_within_node],
        {
            "times": float(np.nanmedian(units.slower[end.units][:, steps])),
            "units": float(end.units.sum()),
        },
        calls=chosen.select("collective", "transfer_ns", "usual_ns"),
    )  # fmt: skip
