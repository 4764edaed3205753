"""The programs of a job: each has ranks from 0 and process groups of its own.

Rollout and training of one job, or its prefill and decode servers, may both have a rank 0 and a
group ``default_pg``; their collectives are not each other's.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.knowledge.job_roles import role_of_worker
from torch_tb_profiler.trace.model import Trace


def programs(traces: Mapping[str, Trace]) -> list[list[str]]:
    """The workers of each program, in the given order: those whose names state one role
    (``docs/views-roles.md#how-roles-are-detected``), and those whose names state none, where
    several roles are stated and ranks appear twice or are not recorded. Else all workers are
    of one."""
    ranks = [own_rank(trace) for trace in traces.values()]
    if None not in ranks and len(set(ranks)) == len(ranks):
        return [list(traces)]
    by_role: dict[str | None, list[str]] = {}
    for worker in traces:
        by_role.setdefault(role_of_worker(worker), []).append(worker)
    return list(by_role.values()) if len(by_role.keys() - {None}) > 1 else [list(traces)]
