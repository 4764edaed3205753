"""The host is kept in calls that wait although the recording shows no device at work."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.wait_evidence import declared, wait_groups
from torch_tb_profiler.analysis.idle.causes import Cause, idle_causes
from torch_tb_profiler.analysis.idle.waits import Wait, launches_graphs
from torch_tb_profiler.analysis.intervals import intersect, total_within, union
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "blocked_host"
EVIDENCE = declared(
    CODE, "Blocking calls", "How long no device worked while the calls kept the host, summed."
)


def detect(context: Context) -> Finding | None:
    """Calls that wait keep the host while no device works, for more than the threshold of the step.

    What they wait for is not in the recording, so no gain is estimated. Copies from pageable
    memory, which the host makes itself, are ``pageable_copies``.
    """
    idle = idle_causes(context.trace)
    chosen = idle.waits["wait"].to_numpy() != Wait.UPLOAD
    start, end = (idle.waits[key].to_numpy() for key in ("start_ns", "end_ns"))
    blocked = intersect(idle.intervals[Cause.BLOCKED], union(start[chosen], end[chosen]))
    time = context.within_steps(blocked)
    idle_ns = context.in_steps_ns(time)
    share = context.share_pct(idle_ns)
    if share <= entry(CODE).threshold:
        return None
    per_wait = np.where(chosen, total_within(time, start, end), 0)
    groups = wait_groups(context, EVIDENCE, idle.waits, per_wait)
    graphs = launches_graphs(context.trace).any()
    return Finding(
        CODE,
        share,
        None,
        values={"calls": groups.calls, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        variant="graphs" if graphs else "fetch" if groups.fetches else "default",
        time=time,
        spot=groups.worst,
        at_stake_us=idle_ns / NS_PER_US,
    )
