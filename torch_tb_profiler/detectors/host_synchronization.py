"""The host waits for the device, and then the device for the host."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.analysis.idle.waits import Wait, launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.waits import group_waits, wait_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "host_synchronization"
EVIDENCE = wait_table(
    CODE,
    "Waiting calls",
    "Idle time of the devices after the calls that waited for device work, summed; each moment "
    "counts for one call.",
)


def detect(context: Context) -> Finding | None:
    """The devices are idle after calls that waited for device work, for more than the threshold of
    the step.

    The gain is that idle time, as far as the host would finish earlier without the waits
    (``docs/metrics.md#idle-devices``).
    """
    idle = idle_causes(context.trace)
    chosen = idle.waits["wait"].to_numpy() != Wait.UPLOAD
    time = context.within_steps(idle.wait_costs.caused_by(chosen))
    idle_ns = context.per_step_ns(time)
    threshold = entry(CODE).threshold
    if context.share_pct(idle_ns) <= threshold:
        return None
    slack_ns = context.step_ns - context.per_step_ns(host_activity(context.trace))
    gain_ns = min(idle_ns, slack_ns)
    if context.share_pct(gain_ns) <= threshold:
        return None
    windows = context.windows
    per_wait = idle.wait_costs.by_wait_ns(idle.waits.height, windows.start_ns, windows.end_ns)
    groups = group_waits(context, EVIDENCE, idle.waits, per_wait * chosen, idle_follows=True)
    is_serving = bool(launches_graphs(context.trace).any()) and not is_training(context.trace)
    return Finding(
        CODE,
        context.share_pct(idle_ns),
        gain_ns / NS_PER_US,
        values={"calls": groups.calls, "operator": groups.operator, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        variant="serving" if is_serving else "fetch" if groups.fetches else "default",
        time=time,
        spot=groups.worst,
    )
