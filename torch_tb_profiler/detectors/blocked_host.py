"""The host is blocked in synchronizing calls, while the recording shows no device work."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.waits import Wait, launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.waits import blocked_time, group_waits, wait_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "blocked_host"
EVIDENCE = wait_table(
    CODE,
    "Blocking calls",
    "Idle time of the devices while the calls blocked the host, summed.",
)


def detect(context: Context) -> Finding | None:
    """Synchronizing calls block the host while no device works, for more than the threshold of the
    step.

    What they wait for is not recorded, so no gain is estimated. Copies from pageable memory, which
    the host performs itself, belong to ``pageable_copies``.
    """
    waits = idle_causes(context.trace).waits
    chosen = waits["wait"].to_numpy() != Wait.UPLOAD
    blocked = blocked_time(context, chosen)
    if blocked.share_pct <= entry(CODE).threshold:
        return None
    groups = group_waits(context, EVIDENCE, waits, blocked.per_wait_ns)
    has_graphs = launches_graphs(context.trace).any()
    return Finding(
        CODE,
        blocked.share_pct,
        None,
        values={"calls": groups.calls, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        variant="graphs" if has_graphs else "fetch" if groups.fetches else "default",
        time=blocked.time,
        spot=groups.worst,
        at_stake_us=blocked.per_step_ns / NS_PER_US,
    )
