"""The host waits in copies from the device while the device works."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import intersect, total_within, union
from torch_tb_profiler.analysis.idle.gaps import busy
from torch_tb_profiler.analysis.idle.waits import Wait, waits
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.waits import group_waits, wait_table_without_idle
from torch_tb_profiler.knowledge.advice import entry

CODE = "waiting_copies"
EVIDENCE = wait_table_without_idle(CODE, "Blocking copies")


def detect(context: Context) -> Finding | None:
    """Copies from a device block the host for more than the threshold of the step while a device
    works: they wait for the work before them.

    Nothing is lost as long as the device has work, so no gain is estimated. If it is idle
    afterwards, ``host_synchronization`` supersedes this finding.
    """
    waiting = waits(context.trace)
    fetch = (waiting["wait"] == Wait.FETCH).to_numpy()
    start, end = (waiting[key].to_numpy() for key in ("start_ns", "end_ns"))
    blocked = intersect(union(start[fetch], end[fetch]), busy(context.trace))
    blocked = context.within_steps(blocked)
    share = context.share_pct(context.per_step_ns(blocked))
    if share <= entry(CODE).threshold:
        return None
    per_wait = np.where(fetch, total_within(blocked, start, end), 0)
    groups = group_waits(context, EVIDENCE, waiting, per_wait)
    return Finding(
        CODE,
        share,
        None,
        values={"calls": groups.calls, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        spot=groups.worst,
    )
