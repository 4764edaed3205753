"""Communication that could run beside computation but does not."""

from __future__ import annotations

from torch_tb_profiler.advice.collective_evidence import collective_evidence, declared
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.collectives.records import records
from torch_tb_profiler.analysis.intervals import intersect, total_within
from torch_tb_profiler.analysis.roles import computation
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.distributed.columns import ALL_STEPS

CODE = "exposed_communication"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Exposed communication exceeds the threshold, and computation without communication is
    there to hide it: the gain is the smaller of both."""
    talking, busy = records(context.trace).intervals(), computation(context.trace)
    start, end = context.windows.start_ns, context.windows.end_ns
    total_ns = float(total_within(talking, start, end).sum())
    if total_ns == 0:
        return None
    both_ns = float(total_within(intersect(talking, busy), start, end).sum())
    exposed_ns = total_ns - both_ns
    alone_ns = float(total_within(busy, start, end).sum()) - both_ns
    known = entry(CODE)
    share = context.share_pct(context.per_step(exposed_ns))
    exposed_share = exposed_ns / total_ns * 100
    if share <= known.threshold or exposed_share <= known.parameters["min_exposed_share_pct"]:
        return None
    if alone_ns <= 0:
        return None
    return Finding(
        CODE,
        share,
        context.per_step(min(exposed_ns, alone_ns)) / NS_PER_US,
        values={"exposed_share": exposed_share},
        evidence=collective_evidence(context, EVIDENCE),
        source={"view": "distributed", "table": "overlap", "filter": f"step={ALL_STEPS}"},
        architecture=context.architecture_name,
    )
