"""Launch delays: from the host call that launches work until the device starts it.

Definitions: ``docs/views-idle.md#launches``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class WorkClass(IntEnum):
    """The kind of launched work."""

    KERNEL = 0
    COMMUNICATION = 1
    COPY = 2
    SET = 3


class Launches(Struct, frozen=True, eq=False):
    """Device work whose launch is known, in order of ``trace.device_work``; of the work of one call
    (a graph) only the first to start.

    Attributes:
        row: Row of ``trace.device_work``.
        name_code: Name of the call.
        work_class: :class:`WorkClass`.
        call_ns: Duration of the call.
        delay_ns: From the end of the call to the start of the work; 0 where it started before.
        work_ns: Duration of the work.
        is_short: Whether it is a kernel, launched alone, that ran for less time than its call.
    """

    row: Int64
    name_code: Int64
    work_class: Int8
    call_ns: Int64
    delay_ns: Int64
    work_ns: Int64
    is_short: Bools


@per_trace
def launches(trace: Trace) -> Launches:
    """The launches of a trace."""
    work = trace.device_work
    launch = indices(work["launch"])
    start, dur = work["start_ns"].to_numpy(), work["dur_ns"].to_numpy()
    rows = np.flatnonzero(launch >= 0)
    rows = rows[np.argsort(start[rows], kind="stable")]
    _, first, count = np.unique(launch[rows], return_index=True, return_counts=True)
    rows, order = np.sort(rows[first]), np.argsort(rows[first])
    calls = trace.slices.select("start_ns", "dur_ns", "name_code")
    call = launch[rows]
    call_start, call_ns = calls["start_ns"].to_numpy()[call], calls["dur_ns"].to_numpy()[call]
    kinds, category = kernel_kinds(trace), work["category"].to_numpy()[rows]
    classes = np.where(kinds.is_communication[rows], WorkClass.COMMUNICATION, WorkClass.KERNEL)
    classes = np.where(category == Category.MEMCPY, WorkClass.COPY, classes)
    classes = np.where(category == Category.MEMSET, WorkClass.SET, classes)
    is_single = count[order] == 1
    return Launches(
        row=rows,
        name_code=calls["name_code"].to_numpy()[call].astype(np.int64),
        work_class=classes.astype(np.int8),
        call_ns=call_ns,
        delay_ns=np.maximum(start[rows] - call_start - call_ns, 0),
        work_ns=dur[rows],
        is_short=(classes <= WorkClass.COMMUNICATION) & is_single & (dur[rows] < call_ns),
    )
