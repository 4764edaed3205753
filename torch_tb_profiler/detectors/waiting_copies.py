"""The host waits in copies from the device while that works."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import intersect, total_within, union
from torch_tb_profiler.analysis.idle.gaps import busy
from torch_tb_profiler.analysis.idle.waits import Wait, waits
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.waits import declared_without_idle, wait_groups
from torch_tb_profiler.knowledge.advice import entry

CODE = "waiting_copies"
EVIDENCE = declared_without_idle(CODE, "Copies that wait")


def detect(context: Context) -> Finding | None:
    """Copies from a device keep the host for more than the threshold of the step while a device
    works: they wait for the work before them.

    Nothing is lost as long as the device has work, so no gain is claimed. Where it has none
    afterwards, ``host_synchronization`` supersedes this.
    """
    waiting = waits(context.trace)
    fetch = (waiting["wait"] == Wait.FETCH).to_numpy()
    start, end = (waiting[key].to_numpy() for key in ("start_ns", "end_ns"))
    kept = intersect(union(start[fetch], end[fetch]), busy(context.trace))
    kept = context.within_steps(kept)
    share = context.share_pct(context.in_steps_ns(kept))
    if share <= entry(CODE).threshold:
        return None
    per_wait = np.where(fetch, total_within(kept, start, end), 0)
    groups = wait_groups(context, EVIDENCE, waiting, per_wait)
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
