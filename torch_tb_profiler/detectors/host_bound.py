"""The GPU waits for the host, although its kernels are not small."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import gap_table, idle_table, idle_time, worst_gap
from torch_tb_profiler.evidence.kernel_time import has_small_kernels, median_kernel_us
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "host_bound"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """Like ``launch_bound``, but the median kernel is not small: the time goes to the host's own
    work, not to launches."""
    idle = idle_time(context, IdleCause.HOST)
    if has_small_kernels(context) is not False or idle.share_pct <= entry(CODE).threshold:
        return None
    evidence = gap_table(context, idle.time, EVIDENCE)
    return Finding(
        CODE,
        idle.share_pct,
        idle.per_step_ns / NS_PER_US,
        values={
            "median_us": median_kernel_us(context),
            "operator": evidence.frame["operator"][0] or "the next work",
        },
        evidence=evidence,
        source={"view": "operators", "table": "operators", "sort": "-host_self_us"},
        architecture=context.architecture_name,
        time=idle.time,
        spot=worst_gap(context, idle.time),
    )
