"""What the step waits for: which device work could make it shorter.

Definitions: ``docs/advice.md#what-can-be-gained``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import subtract, total_within, union
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LATE_NS = 5_000
"""A call that waits and whose work starts later than this after the work before it was busy itself
(staging a copy): its work could not have started earlier."""


@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """The device work that ends later than all work before it, in order of time.

    Attributes:
        row: Its row of ``trace.device_work``.
        start_ns, end_ns: When it ran; ends only grow.
        since_ns: From when on it ran alone: its start, or the end of the work before it.
        slack_ns: How much earlier it could have started, by its launch.
        waited_ns: How long the host had waited for its end; 0 where it did not.
    """

    row: Int64
    start_ns: Int64
    end_ns: Int64
    since_ns: Int64
    slack_ns: Int64
    waited_ns: Int64


@per_trace
def front(trace: Trace) -> Front:
    """The front of the work of all devices."""
    work = trace.device_work.select("start_ns", "dur_ns", "launch")
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    row = np.lexsort((end, start))
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[row]))[:-1]
    later = end[row] > before
    row, before = row[later], before[later]
    start, end = start[row], end[row]
    slack = _slack(trace, indices(work["launch"])[row], start, before)
    return Front(row, start, end, np.maximum(before, start), slack, _waited(trace, end))


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
    saved = np.zeros(work.height, np.int64)
    saved[np.searchsorted(work["slice"].to_numpy(), slices)] = saved_ns
    chain = front(trace)
    saved = np.minimum(saved, _alone(trace, saved > 0))[chain.row]
    shift = _shifts(chain, np.minimum(saved, chain.end_ns - chain.since_ns))
    return float(np.minimum(shift, chain.waited_ns[chain.waited_ns > 0]).sum())


def _shifts(chain: Front, saved_ns: Int64) -> Int64:
    """How much earlier each awaited piece of the front ends.

    A piece starts earlier by as much as the one before it ends earlier, but not before its launch
    has arrived. After a wait all that follows comes earlier with the host, so each stretch
    between two waits begins anew.
    """
    awaited = np.flatnonzero(chain.waited_ns > 0)
    first = np.append(0, awaited + 1)[: len(awaited)]
    if not len(awaited):
        return awaited
    # What begins before a piece has ended did not wait for it, but for what that one waited for.
    passed_on = np.where(np.append(chain.start_ns[1:] < chain.end_ns[:-1], False), 0, saved_ns)
    total = np.append(0, np.cumsum(passed_on))
    # With s summed from the start of the stretch: shift = min(slack - s before, … of all) + s.
    limit = chain.slack_ns - total[:-1]
    limit[first] = -total[first]
    until_last = limit[: awaited[-1] + 1]
    shifts: Int64 = np.minimum.reduceat(until_last, first) + total[awaited] + saved_ns[awaited]
    return shifts


def _alone(trace: Trace, chosen: Bools) -> Int64:
    """How long each chosen piece of work ran beside none that is not chosen; 0 of others."""
    dur = trace.device_work["dur_ns"].to_numpy()
    length = np.where(chosen, dur, 0)
    overlaps = _overlaps(trace)
    asked = chosen & overlaps
    if asked.any():
        start = trace.device_work["start_ns"].to_numpy()
        end = start + dur
        own = start[asked], end[asked]
        beside = overlaps & ~chosen & (end > own[0].min()) & (start < own[1].max())
        alone = subtract(union(*own), union(start[beside], end[beside]))
        length[asked] = total_within(alone, *own)
    return length


@per_trace
def _overlaps(trace: Trace) -> Bools:
    """Per row of ``trace.device_work`` whether other work runs at some moment of it."""
    start = trace.device_work["start_ns"].to_numpy()
    order = np.argsort(start, kind="stable")
    begun, ended = start[order], (start + trace.device_work["dur_ns"].to_numpy())[order]
    reach = np.maximum.accumulate(ended)
    overlaps = np.zeros(len(start), np.bool_)
    overlaps[order[1:]] = begun[1:] < reach[:-1]
    overlaps[order[:-1]] |= ended[:-1] > begun[1:]
    return overlaps


def _slack(trace: Trace, launch: Int64, start_ns: Int64, before_ns: Int64) -> Int64:
    """From when its launch had arrived until it started. Calls that wait for their own work sent
    it off when they began."""
    calls = trace.slices.select("start_ns", "dur_ns")
    arrived = (calls["start_ns"] + calls["dur_ns"]).to_numpy()[launch]
    waiting = np.isin(launch, waits(trace)["id"].to_numpy())
    arrived = np.where(waiting, calls["start_ns"].to_numpy()[launch], arrived)
    known = (launch >= 0) & ~(waiting & (start_ns > before_ns + LATE_NS))
    return np.where(known, np.maximum(start_ns - arrived, 0), 0)


def _waited(trace: Trace, end_ns: Int64) -> Int64:
    """How long the host had waited for the end of each piece; for the last one, how long it
    outlasts the host."""
    waited = np.zeros(len(end_ns), np.int64)
    if not len(end_ns):
        return waited
    calls = waits(trace).select("start_ns", "end_ns").sort("end_ns")
    start = calls["start_ns"].to_numpy()
    piece = np.searchsorted(end_ns, calls["end_ns"].to_numpy(), "right") - 1
    ended = np.where(piece >= 0, end_ns[piece], start)
    np.maximum.at(waited, piece[ended > start], (ended - start)[ended > start])
    waited[-1] = max(waited[-1], int(end_ns[-1]) - _host_end_ns(trace))
    return waited


def _host_end_ns(trace: Trace) -> int:
    """When the last operator, range, step, frame or call of the host ended."""
    host = trace.slices.filter(pl.col("category") <= Category.RUNTIME)
    end = (host["start_ns"] + host["dur_ns"]).max()
    return int(end) if isinstance(end, int) else 0
