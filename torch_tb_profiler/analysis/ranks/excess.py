"""By how much each rank is slower than its peers, per step and reason, in ns of its own time."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.node_stages import late_stage_hosts
from torch_tb_profiler.analysis.ranks.pace import Pace
from torch_tb_profiler.analysis.ranks.peers import Peers, lower_quartile
from torch_tb_profiler.trace.columns import Float64

DRAINING = ("slow_input", "pause")
"""Reasons for which the host stops launching."""

COMMON_SHARE = 0.8
"""A rank with less of the work that its peers have in common has other batches."""

REASONS = {
    "slow_device": "computation",
    "uneven_work": "computation",
    "slow_input": "input",
    "pause": "pause",
    "slow_host": "host",
}
"""What makes the own time of a rank longer → the part of it that gets longer."""


class Excess(Struct, frozen=True, eq=False):
    """What ranks take longer than their peers.

    Attributes:
        by_reason: Per key of :data:`REASONS` the excess, ``[ranks, steps]``, at least 0; 0 where
            the rank lacks the step.
        expert_ns: The part of that of ``uneven_work`` that is in kernels whose shapes follow from
            data, while all others are those of the peers: as tokens are routed to experts.
        gap_ns: The part of that of ``slow_host`` that is one long gap, likewise.
        drained_ns: Per key of :data:`DRAINING` the part of its excess that the host is late for
            after it, likewise: a host that stops launching no longer runs ahead of its device.
    """

    by_reason: dict[str, Float64]
    expert_ns: Float64
    gap_ns: Float64
    drained_ns: dict[str, Float64]


def excess(job: RankJob, peers: Peers, pace: Pace, node: pl.Series) -> Excess:
    """What the ranks of a job take longer than their peers; ``node``: where each ran, null where
    that is unknown."""

    def above(values: Float64) -> Float64:
        return np.nan_to_num(np.maximum(values - peers.usual(values), 0.0))

    computation = job.own_ns["computation"]
    longer = above(computation)
    # Steps differ for all ranks: what counts is the pace beside that of others in the same step.
    slower = pace.slower / lower_quartile(pace.slower)
    slow = np.nan_to_num(computation * (1 - 1 / np.maximum(slower, 1.0)))
    host = above(job.own_ns["host"])
    late = late_stage_hosts(job.own_ns["host"], job.step_ns, peers.coordinates["pipeline"], node)
    host = host if late is None else np.maximum(host, late)
    if pace.is_host:
        # The host computes: its operators take longer, or there are more of them.
        more = np.minimum(above(pace.work_ns), longer)
        reasons = {"slow_device": np.minimum(slow, longer), "uneven_work": more}
        expert = np.zeros_like(slow)
    else:
        more = np.maximum(longer - slow, 0.0)
        reasons = {"slow_device": slow, "uneven_work": more}
        at_pace = pace.varying_ns / np.maximum(np.nan_to_num(slower, nan=1.0), 1.0)
        in_common = -peers.usual(-pace.common_ns)  # here less is unusual
        has_usual = pace.common_ns >= COMMON_SHARE * in_common
        expert = np.where(has_usual, np.minimum(above(at_pace), more), 0.0)
    idle = {name: above(job.own_ns[REASONS[name]]) for name in DRAINING}
    # The device may compute what was launched before while the host stops, and wait afterwards.
    stops = {
        name: np.maximum(idle[name], above(job.stopped_ns[REASONS[name]])) for name in DRAINING
    }
    drained = _late_after(stops, host)
    reasons |= {name: idle[name] + drained[name] for name in DRAINING}
    host = host - sum(drained.values())
    reasons["slow_host"] = host
    gap = np.minimum(above(job.longest_gap_ns), host)
    return Excess(reasons, expert, gap, drained)


def _late_after(stops: dict[str, Float64], late_ns: Float64) -> dict[str, Float64]:
    """The part of what hosts are late for that follows from stops of the same step or the one
    before: at most as long as they were; by kind of stop, each ``[ranks, steps]``."""
    stopped = sum(stops.values(), np.zeros_like(late_ns))
    after, left = np.zeros_like(late_ns), np.zeros(len(late_ns))
    for step in range(late_ns.shape[1]):
        available = stopped[:, step] + left
        after[:, step] = np.minimum(late_ns[:, step], available)
        left = np.minimum(available - after[:, step], stopped[:, step])
    recent = {
        name: values + np.pad(values, ((0, 0), (1, 0)))[:, :-1] for name, values in stops.items()
    }
    of_all = np.maximum(sum(recent.values(), np.zeros_like(late_ns)), 1.0)
    return {name: after * values / of_all for name, values in recent.items()}
