"""The host is kept in calls that wait although the recording shows no device at work."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.waits import Wait, launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.waits import blocked_in, declared, wait_groups
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
    waits = idle_causes(context.trace).waits
    chosen = waits["wait"].to_numpy() != Wait.UPLOAD
    blocked = blocked_in(context, chosen)
    if blocked.share_pct <= entry(CODE).threshold:
        return None
    groups = wait_groups(context, EVIDENCE, waits, blocked.per_wait_ns)
    graphs = launches_graphs(context.trace).any()
    return Finding(
        CODE,
        blocked.share_pct,
        None,
        values={"calls": groups.calls, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        variant="graphs" if graphs else "fetch" if groups.fetches else "default",
        time=blocked.time,
        spot=groups.worst,
        at_stake_us=blocked.per_step_ns / NS_PER_US,
    )
