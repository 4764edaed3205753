"""What causes cost the steps of a job, by replaying all ranks with and without them."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.candidates import CauseCandidate
from torch_tb_profiler.analysis.ranks.excess import REASONS
from torch_tb_profiler.analysis.ranks.job import PARTS, RankJob
from torch_tb_profiler.analysis.ranks.replay import replay
from torch_tb_profiler.trace.columns import Float64, Int64

MAX_UNRESOLVED = 0.01
"""A replay in which more than this share of the collectives contradict each other says nothing."""


def candidate_costs(job: RankJob, candidates: list[CauseCandidate]) -> tuple[Float64, bool]:
    """What each candidate costs a step of a job where no other strikes, ns; and whether that is
    of a replay: else it is the own excess of its ranks."""
    steps = len(job.steps)
    own = [float(each.excess_ns[each.ranks].max(axis=0).sum()) / steps for each in candidates]
    if not candidates or job.calls.is_empty():
        return np.array(own), False
    parts_clean = job.parts_ns.copy()
    transfers_clean = job.transfer_ns.copy()
    removed = [_removed(job, each) for each in candidates]
    for part, rows, amount in removed:
        if part >= 0:
            parts_clean[part, rows] -= amount
        else:
            transfers_clean[rows] -= amount
    clean = np.maximum(parts_clean, 0).sum(axis=0)
    owns, transfers = [clean], [np.maximum(transfers_clean, 0)]
    for part, rows, amount in removed:
        alone, moved = clean, transfers[0]
        if part >= 0:
            alone = clean.copy()
            alone[rows] += amount
        else:
            moved = moved.copy()
            moved[rows] += amount
        owns.append(alone)
        transfers.append(moved)
    result = replay(job.program, np.stack(owns), np.stack(transfers))
    if result.unresolved > MAX_UNRESOLVED * len(job.transfer_ns):
        return np.array(own), False
    ends = result.job_ns
    return (ends[1:] - ends[0]) / steps, True


def _removed(job: RankJob, candidate: CauseCandidate) -> tuple[int, Int64, Float64]:
    """Which part of which events (or, -1, which collectives) are shorter without a cause, and by
    how much: the excess of a step in proportion to the part in it."""
    if candidate.calls is not None:
        rows = candidate.calls["collective"].to_numpy()
        longer = (candidate.calls["transfer_ns"] - candidate.calls["usual_ns"]).to_numpy()
        return -1, rows, np.maximum(longer, 0.0)
    name = "host" if candidate.variant == "gap" else REASONS[candidate.cause]
    part = PARTS.index(name)
    whole = np.maximum(job.own_ns[name], 1.0)
    share = np.clip(np.nan_to_num(candidate.excess_ns / whole), 0.0, 1.0)
    rows = np.flatnonzero(np.isin(job.rank, candidate.ranks))
    amount = job.parts_ns[part, rows] * share[job.rank[rows], job.program.step[rows]]
    return part, rows, amount
