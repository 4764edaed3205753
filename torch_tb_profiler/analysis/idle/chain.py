"""What the step waits for: which device work could make it shorter.

Definitions: ``docs/advice.md#what-can-be-gained``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.idle.gaps import busy, gaps
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.analysis.intervals import Intervals, subtract, total_within, union
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def runs(trace: Trace) -> tuple[Intervals, Bools]:
    """Stretches of device work in which each piece was launched before the one before it ended,
    and whether something waits for the end of each: the host in a call, or nothing follows."""
    working, idle = busy(trace), gaps(trace)
    if not len(working.start_ns):
        return working, np.zeros(0, np.bool_)
    # The gap that follows each busy stretch; only the last one may have none.
    after = np.searchsorted(idle.start_ns, working.end_ns)
    exists = np.append(idle.start_ns, -1)[after] == working.end_ns
    late = exists & (np.append(idle.host_end_ns, 0)[after] > working.end_ns)
    late[-1] = True
    ends = np.flatnonzero(late)
    first = np.append(0, ends[:-1] + 1)
    awaited = _is_waited_for(trace, working.end_ns[ends])
    awaited[-1] |= _host_end_ns(trace) <= working.end_ns[-1]
    return Intervals(working.start_ns[first], working.end_ns[ends]), awaited


def saved_on_chain(trace: Trace, slices: Int64, saved_ns: Int64) -> float | None:
    """By how much some device work, made shorter, could shorten what waits for it, in ns.

    Args:
        trace: The recording.
        slices: Slice ids of device work.
        saved_ns: By how much each could be shorter.

    Returns:
        Each moment counts once, and only where no other device work runs. None where no launch is
        known.
    """
    work = trace.device_work
    if work["launch"].null_count() == work.height:
        return None
    stretches, awaited = runs(trace)
    chosen = np.isin(work["slice"].to_numpy(), slices)
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    alone = subtract(union(start[chosen], end[chosen]), union(start[~chosen], end[~chosen]))
    exposed = total_within(alone, stretches.start_ns, stretches.end_ns)
    order = np.argsort(slices)
    run = np.maximum(np.searchsorted(stretches.start_ns, start[chosen], "right") - 1, 0)
    saved = np.bincount(run, saved_ns[order], len(awaited))
    return float(np.minimum(saved, exposed)[awaited].sum())


def _host_end_ns(trace: Trace) -> int:
    """When the last operator, range, step, frame or call of the host ended."""
    host = trace.slices.filter(pl.col("category") <= Category.RUNTIME)
    end = (host["start_ns"] + host["dur_ns"]).max()
    return int(end) if isinstance(end, int) else 0


def _is_waited_for(trace: Trace, ends_ns: Int64) -> Bools:
    """Whether a host call that waits was under way at each moment."""
    calls = waits(trace)
    under_way = union(calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy())
    call = np.searchsorted(under_way.start_ns, ends_ns, "left") - 1
    is_inside: Bools = (call >= 0) & (np.append(under_way.end_ns, 0)[call] >= ends_ns)
    return is_inside
