"""How much of the time in which a rank only communicates it waits for others, directly or not.

A call that waits ends later by its wait. Calls that queue behind it start later by as much, unless
they were not ready before. So a wait may be hidden behind computation itself, and still push out
calls that nothing hides (``docs/advice.md#waiting-ranks``).
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.communication.queues import CallQueues, call_queues
from torch_tb_profiler.evidence.exposure import exposed_time
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

QUEUED_NS = 20_000
"""A call that starts within this time after the one before it in its stream waited behind it."""


def exposed_waits(
    trace: Trace, record: Int64, start_ns: Int64, end_ns: Int64, wait_ns: Int64
) -> Intervals:
    """The exposed communication that calls would not have without their waits.

    A stretch of exposed communication ends with a call. It would end earlier by as much as that
    call, less what stretches before it in the same queue would have ended earlier.

    Args:
        trace: The recording.
        record: Per call its row of ``records``.
        start_ns, end_ns: When each ran.
        wait_ns: How long each waited for other ranks.
    """
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], end_ns[order]
    wait = np.maximum(wait_ns[order], 0)
    queue, delay = _delays(call_queues(trace), record[order], start, end, wait)
    exposed = exposed_time(trace)
    last = _last_calls(end, exposed)
    used: dict[int, int] = {}
    saved = np.zeros(len(last), np.int64)
    rows = np.flatnonzero(last >= 0)
    lengths = (exposed.end_ns - exposed.start_ns)[rows].tolist()
    for row, length, call in zip(rows.tolist(), lengths, last[rows].tolist(), strict=True):
        number = queue[call]
        earlier = used.get(number, 0)
        saved[row] = less = max(min(length, delay[call] - earlier), 0)
        used[number] = earlier + less
    some = saved > 0
    return Intervals(exposed.end_ns[some] - saved[some], exposed.end_ns[some])


def _delays(
    queues: CallQueues, record: Int64, start: Int64, end: Int64, wait: Int64
) -> tuple[list[int], list[int]]:
    """The queue that each call stands in (calls without a pause, in one stream), and by how much
    earlier it would have ended, had none of the queue waited; calls in order of their start."""
    queue, delay = list(range(len(start))), wait.tolist()
    starts, ends, ready = start.tolist(), end.tolist(), queues.ready_ns[record].tolist()
    before: dict[int, int] = {}
    for call, track in enumerate(queues.track[record].tolist()):
        previous = before.get(track, -1)
        if previous >= 0 and starts[call] - ends[previous] <= QUEUED_NS:
            queue[call] = queue[previous]
            delay[call] += max(min(delay[previous], starts[call] - ready[call]), 0)
        before[track] = call
    return queue, delay


def _last_calls(end: Int64, exposed: Intervals) -> Int64:
    """Per stretch of exposed time the last call that ended in it, which what ended the stretch
    waited for; -1 where none did: what follows waited for something else."""
    order = np.argsort(end, kind="stable").astype(np.int64)
    call = gather(order, np.searchsorted(end[order], exposed.end_ns, "right") - 1)
    return np.where(gather(end, call) > exposed.start_ns, call, -1)
