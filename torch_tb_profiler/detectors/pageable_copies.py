"""Copies to a device that block the host while no device works."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.waits import Wait
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.waits import blocked_time, group_waits, wait_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "pageable_copies"
EVIDENCE = wait_table(
    CODE,
    "Blocking copies",
    "Idle time of the devices while the calls blocked the host, summed.",
)


def detect(context: Context) -> Finding | None:
    """No device works while a copy to a device blocks the host, for more than the threshold of the
    step: a copy from pageable memory, or one that is not asynchronous.

    The gain is that idle time: an asynchronous copy from pinned memory returns at once. The time of
    the copy itself on the device does not count.
    """
    waits = idle_causes(context.trace).waits
    chosen = waits["wait"].to_numpy() == Wait.UPLOAD
    if not chosen.any():
        return None
    blocked = blocked_time(context, chosen)
    if blocked.share_pct <= entry(CODE).threshold:
        return None
    groups = group_waits(context, EVIDENCE, waits, blocked.per_wait_ns)
    variant = "one" if groups.calls == 1 else "default"
    pinned_ns = int(blocked.per_wait_ns[_from_pinned(context.trace, waits)].sum())
    if pinned_ns * 2 > int(blocked.per_wait_ns.sum()):
        variant = "pinned"
    return Finding(
        CODE,
        blocked.share_pct,
        blocked.per_step_ns / NS_PER_US,
        values={"calls": groups.calls, "where": groups.where},
        evidence=groups.table,
        source=groups.source,
        architecture=context.architecture_name,
        variant=variant,
        time=blocked.time,
        spot=groups.worst,
    )


def _from_pinned(trace: Trace, waits: pl.DataFrame) -> Bools:
    """Mask of the waits that launched a copy from pinned memory."""
    copies = trace.device_work.filter(
        (pl.col("category") == Category.MEMCPY) & pl.col("launch").is_in(waits["id"].implode())
    )
    names = copies["name_code"].to_numpy()
    pinned = codes.map_names(trace, names, lambda name: "Pinned ->" in name, np.bool_)
    mask: Bools = np.isin(waits["id"].to_numpy(), copies["launch"].to_numpy()[pinned])
    return mask
