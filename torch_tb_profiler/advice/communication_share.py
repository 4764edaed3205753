"""Much of the step is communication (rule 4 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.advice.collective_evidence import collective_evidence, declared
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.intervals import subtract, total_within
from torch_tb_profiler.analysis.roles import Role, computation, exclusive_intervals, role_intervals
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "communication_share"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Communication, where no kernel or copy runs, takes more than the threshold of the step.

    The gain is the part of that time in which nothing computes. Where no kernel computes at all,
    the host does, and may beside all of the communication.
    """
    spent_ns = context.role_ns(Role.COMMUNICATION)
    share = context.share_pct(spent_ns)
    if share <= entry(CODE).threshold:
        return None
    exposed = subtract(
        exclusive_intervals(context.trace)[Role.COMMUNICATION], computation(context.trace)
    )
    start, end = context.windows.start_ns, context.windows.end_ns
    exposed_ns = context.per_step(float(total_within(exposed, start, end).sum()))
    on_host = not len(role_intervals(context.trace)[Role.KERNEL].start_ns)
    return Finding(
        CODE,
        share,
        exposed_ns / NS_PER_US if exposed_ns > 0 else None,
        evidence=collective_evidence(context, EVIDENCE),
        source={"view": "distributed", "table": "collectives"},
        architecture=context.architecture_name,
        variant=("host" if exposed_ns > 0 else "hidden") if on_host else "default",
    )
