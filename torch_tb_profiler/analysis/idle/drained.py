"""Which wait emptied the devices at the begin of each gap, and how long it had kept the host.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import intersect, subtract, total_within, union
from torch_tb_profiler.analysis.idle.gaps import Gaps, busy
from torch_tb_profiler.analysis.idle.host_threads import HostThread, host_threads
from torch_tb_profiler.analysis.idle.waits import Wait
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Drained:
    """Gaps that begin while a call waits, in order of time.

    Attributes:
        gap: Number of each gap.
        began_ns: When it begins.
        returned_ns: End of the wait.
        waited_ns: For how long until then the wait had kept back the thread that ends the gap,
            while a device worked; above 0.
        wait: Row of the table of waits.
    """

    gap: Int64
    began_ns: Int64
    returned_ns: Int64
    waited_ns: Int64
    wait: Int64


def drained(trace: Trace, waits: pl.DataFrame, idle: Gaps) -> Drained:
    """The gaps of ``idle`` that a wait began with, each once; a wait begins the last gap that
    starts in it.

    Of several waits the latest tells, those of the launching thread before others.
    """
    threads = host_threads(trace)
    start, end = waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy()
    gap = np.searchsorted(idle.start_ns, end, "right") - 1
    began = np.append(idle.start_ns, -1)[gap]
    # What is copied to a device is needed there: waiting for that is not what brings idle time.
    avoidable = waits["track"].is_in(list(threads)).to_numpy() & (
        waits["wait"].to_numpy() != Wait.UPLOAD
    )
    row = np.flatnonzero((gap >= 0) & (began > start) & avoidable)
    track = waits["track"].to_numpy()[row].astype(np.int64)
    launcher = gather(indices(trace.slices["track"]), idle.launch)[gap[row]]
    # Of one GPU's gaps: others may work on while the call waits.
    until = np.minimum(end[row], idle.end_ns[gap[row]])
    waited_ns = _kept_back(trace, threads, launcher, track, (start[row], until))
    order = np.lexsort((start[row], end[row], track == launcher, gap[row]))
    order = order[waited_ns[order] > 0]
    ordered = gap[row[order]]
    row, waited_ns = (of[order[_last_of_each(ordered)]] for of in (row, waited_ns))
    return Drained(gap[row], began[row], end[row], waited_ns, row)


def _last_of_each(values: Int64) -> Bools:
    last: Bools = np.append(values[1:] != values[:-1], True)[: len(values)]
    return last


def _kept_back(
    trace: Trace,
    threads: Mapping[int, HostThread],
    launcher: Int64,
    track: Int64,
    windows: tuple[Int64, Int64],
) -> Int64:
    """How long devices worked in windows of waits of ``track`` while ``launcher`` (-1: unknown)
    did not, ns: a thread that works is not kept back by the wait of another, nor by any of
    another process."""
    start, end = windows
    waited: Int64 = total_within(busy(trace), start, end)
    process = indices(trace.tracks.sort("track")["process"])
    waited[(launcher >= 0) & (gather(process, launcher) != gather(process, track))] = 0
    others = (launcher != track) & (waited > 0)
    for number in np.unique(launcher[others & (launcher >= 0)]).tolist():
        rows = np.flatnonzero(others & (launcher == number))
        meanwhile = intersect(busy(trace), union(start[rows], end[rows]))
        unoccupied = subtract(meanwhile, threads[number].at_work)
        waited[rows] = total_within(unoccupied, start[rows], end[rows])
    return waited
