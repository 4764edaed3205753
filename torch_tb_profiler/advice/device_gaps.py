"""The GPU stands idle between pieces of work that were launched already."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.idle_evidence import declared, gap_rows, idle_time, worst_gap
from torch_tb_profiler.analysis.idle.causes import Cause
from torch_tb_profiler.analysis.idle.waits import launches_graphs
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "device_gaps"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works although the next work was launched, for more than the threshold of the step
    (the part where the host is not late, ``docs/metrics.md#idle-devices``). How much of such time
    fewer kernels would save cannot be told, so no gain is estimated."""
    idle = idle_time(context, Cause.DEVICE)
    if not context.knows_launches or idle.share_pct <= entry(CODE).threshold:
        return None
    return Finding(
        CODE,
        idle.share_pct,
        None,
        evidence=gap_rows(context, idle.time, EVIDENCE),
        source={"view": "kernels", "table": "kernels", "sort": "-calls"},
        architecture=context.architecture_name,
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
        variant="graphs" if launches_graphs(context.trace).any() else "default",
    )
