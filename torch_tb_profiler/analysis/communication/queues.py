"""Which queue each communication call stood in, and from when on it could have run there."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

ALWAYS_NS = int(np.iinfo(np.int64).min)


class CallQueues(Struct, frozen=True, eq=False):
    """Per row of ``records``, shape ``(records,)``.

    Attributes:
        track: The track on which the call ran: a stream of a device, or a thread.
        ready_ns: From when on its kernel could have run, had its stream been free: its launch had
            begun, and the computation launched before it, which it may need, had ended.
            :data:`ALWAYS_NS` where its launch is not recorded, and for calls on the host: nothing
            speaks against its having been ready.
    """

    track: Int64
    ready_ns: Int64


@per_split
def call_queues(trace: Trace) -> CallQueues:
    """The queues of the communication calls of a trace."""
    slices = records(trace).frame["work"].to_numpy()
    work = trace.device_work
    work_slices = work["slice"].to_numpy()
    row = np.searchsorted(work_slices, slices)
    row = np.where(gather(work_slices, np.where(row < work.height, row, -1)) == slices, row, -1)
    launch = gather(indices(work["launch"]), row)
    launched = gather(trace.slices["start_ns"].to_numpy(), launch)
    launches, ends = _computation_by_launch(trace)
    before = np.searchsorted(launches, launched, "left") - 1
    computed = np.append(ends, ALWAYS_NS)[before]
    ready = np.where(launch >= 0, np.maximum(launched, computed), ALWAYS_NS)
    return CallQueues(trace.slices["track"].to_numpy()[slices].astype(np.int64), ready)


@per_trace
def _computation_by_launch(trace: Trace) -> tuple[Int64, Int64]:
    """When computation was launched, ascending, and when all launched until then had ended."""
    work, kinds = trace.device_work, kernel_kinds(trace)
    launch = indices(work["launch"])
    chosen = kinds.is_kernel & ~kinds.is_communication & (launch >= 0)
    launched = trace.slices["start_ns"].to_numpy()[launch[chosen]]
    end = (work["start_ns"] + work["dur_ns"]).to_numpy()[chosen]
    order = np.argsort(launched, kind="stable")
    return launched[order], np.maximum.accumulate(end[order])
