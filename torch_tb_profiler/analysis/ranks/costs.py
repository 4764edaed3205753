"""What causes cost the steps of a job, by replaying all ranks with and without them."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.candidates import CauseCandidate
from torch_tb_profiler.analysis.ranks.event_excess import divided_excess
from torch_tb_profiler.analysis.ranks.excess import REASONS
from torch_tb_profiler.analysis.ranks.job import PARTS, RankJob
from torch_tb_profiler.analysis.ranks.replay import replay
from torch_tb_profiler.trace.columns import Float64

MAX_CANDIDATES = 12
"""So many are priced, those that add most to one rank."""

BATCH_VALUES = 24_000_000
"""So many durations are replayed at once: 200 MB."""

_OF_TRANSFERS = ("slow_link",)
"""Causes that make no rank's own time longer: what their excess says is in the transfers."""

MAX_UNRESOLVED = 0.01
"""A replay in which more than this share of the collectives contradict each other says nothing."""


def candidate_costs(job: RankJob, candidates: list[CauseCandidate]) -> tuple[Float64, bool]:
    """What each candidate costs a step of the job, ns, and whether that is of a replay: else it is
    the own excess of its ranks.

    The larger of two differences: to the job as recorded without it, and to a job without any with
    it alone. Of two causes on one rank either may hide the other in one of them.
    """
    steps = len(job.steps)
    own = [float(each.excess_ns[each.ranks].max(axis=0).sum()) / steps for each in candidates]
    if not candidates or job.calls.is_empty():
        return np.array(own), False
    recorded = (job.parts_ns.sum(axis=0), job.transfer_ns)
    removed = [_removed(job, each) for each in candidates]
    clean = tuple(
        np.maximum(values - sum(amounts[which] for amounts in removed), 0.0)
        for which, values in enumerate(recorded)
    )
    scenarios = [clean, recorded]
    for amounts in removed:
        scenarios.append(tuple(map(np.add, clean, amounts)))
        scenarios.append(
            tuple(
                np.maximum(values - amount, 0.0)
                for values, amount in zip(recorded, amounts, strict=True)
            )
        )
    ends = _job_ends(job, scenarios)
    if ends is None:
        return np.array(own), False
    return np.maximum(ends[2::2] - ends[0], ends[1] - ends[3::2]) / steps, True


def most_costly(
    job: RankJob, candidates: list[CauseCandidate], least_ns: float
) -> list[CauseCandidate]:
    """The candidates that may cost a step ``least_ns``: a path through the job gets shorter by no
    more than all that a cause adds to any of its parts. Of more than :data:`MAX_CANDIDATES` those
    that add most to one rank: ranks lose time side by side, so that a sum over many says little."""
    possible = [each for each in candidates if sum(_added_ns(each)) / len(job.steps) >= least_ns]
    possible.sort(key=lambda each: -max(_added_ns(each)))
    return possible[:MAX_CANDIDATES]


def _added_ns(candidate: CauseCandidate) -> list[float]:
    """What a cause adds to all transfers together, and to each rank."""
    added = [0.0]
    if candidate.calls is not None:
        longer = candidate.calls["transfer_ns"] - candidate.calls["usual_ns"]
        added = [float(longer.clip(lower_bound=0).sum())]
    if candidate.cause not in _OF_TRANSFERS:
        added += candidate.excess_ns[candidate.held_up].sum(axis=1).tolist()
    return added


def _job_ends(job: RankJob, scenarios: list[tuple[Float64, ...]]) -> Float64 | None:
    """When the job ends in each scenario (own time before events, transfers), ns from its start;
    None where the recordings contradict each other."""
    size = max(BATCH_VALUES // max(len(job.rank), 1), 1)
    ends = []
    for first in range(0, len(scenarios), size):
        own, transfers = zip(*scenarios[first : first + size], strict=True)
        result = replay(job.program, np.stack(own), np.stack(transfers))
        if result.unresolved > MAX_UNRESOLVED * len(job.transfer_ns):
            return None
        ends.append(result.job_ns)
    return np.concatenate(ends)


def _removed(job: RankJob, candidate: CauseCandidate) -> tuple[Float64, Float64]:
    """How much shorter the own time before each event, and each transfer, is without a cause: the
    excess of a step in proportion to the part in it; of experts where it is."""
    own, moved = np.zeros(len(job.rank)), np.zeros(len(job.transfer_ns))
    if candidate.calls is not None:
        longer = (candidate.calls["transfer_ns"] - candidate.calls["usual_ns"]).to_numpy()
        moved[candidate.calls["collective"].to_numpy()] = np.maximum(longer, 0.0)
    if candidate.cause in _OF_TRANSFERS:
        return own, moved
    if candidate.variant == "experts":
        longer_ns = np.zeros_like(candidate.excess_ns)
        longer_ns[candidate.ranks] = candidate.excess_ns[candidate.ranks]
        part_ns = job.parts_ns[PARTS.index("computation")]
        return divided_excess(job.program, job.rank, part_ns, longer_ns), moved
    rows = np.flatnonzero(np.isin(job.rank, candidate.held_up))
    at = (job.rank[rows], job.program.step[rows])
    by_variant = {"gap": "host", "computes": "computation"}
    name = by_variant.get(candidate.variant, REASONS[candidate.cause])
    late_ns = candidate.drained_ns
    parts = {name: candidate.excess_ns}
    if late_ns is not None:
        parts = {name: candidate.excess_ns - late_ns, "host": late_ns}
    for part, excess_ns in parts.items():
        share = np.nan_to_num(excess_ns / np.maximum(job.own_ns[part], 1.0))
        own[rows] += job.parts_ns[PARTS.index(part), rows] * np.clip(share, 0.0, 1.0)[at]
    return own, moved
