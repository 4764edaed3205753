"""The program of a rank as a chain of events, between which its own time passes.

A rank enters a collective, and later waits for it, or never. Between two such events only its own
time counts (:mod:`torch_tb_profiler.analysis.ranks.own_time`): how long it takes does not depend on
other ranks. So the chains of all ranks, joined at their collectives, can be replayed with other
durations (:mod:`torch_tb_profiler.analysis.ranks.replay`).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, total_within, union_all
from torch_tb_profiler.analysis.communication.queues import ALWAYS_NS, call_queues
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.ranks.own_time import own_time
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

MAX_EVENTS = 16_384
"""Of more calls only the ends of the steps are stored: a summary stays below a megabyte."""


class RankEvent(IntEnum):
    """What happens at the end of a segment."""

    WAIT = 0
    """The computation had to wait for a collective, and goes on."""
    CALL = 1
    """A collective could start as far as this rank is concerned."""
    STEP_END = 2
    """A step ends."""


SEGMENTS = pl.Schema(
    {
        "event": pl.Int8,  # RankEvent
        "record": pl.Int32,  # row of `records`; -1 for the end of a step
        "step": pl.Int32,  # row of `steps`
        "computation_ns": pl.Float32,
        "input_ns": pl.Float32,
        "pause_ns": pl.Float32,
        "host_ns": pl.Float32,
        "device_ns": pl.Float32,
    }
)
"""One row per event of the steps, in order of time; durations: own time since the event before."""


@per_split
def segments(trace: Trace) -> pl.DataFrame:
    """The events of a rank as :data:`SEGMENTS`; empty where it has no step."""
    steps = trace.steps.with_row_index("row").sort("end_ns", maintain_order=True)
    step_end = steps["end_ns"].to_numpy()
    if not len(step_end):
        return pl.DataFrame(schema=SEGMENTS)
    begin, finish = int(steps["start_ns"].to_numpy().min()), int(step_end[-1])
    time = own_time(trace)
    called, called_at = _calls(trace, begin, finish)
    waited, waited_at = _waits(trace, time.blocked, begin, finish)
    if len(called) + len(waited) > MAX_EVENTS:
        called = called_at = waited = waited_at = np.empty(0, np.int64)
    at = np.concatenate((waited_at, called_at, step_end))
    event = np.repeat(list(RankEvent), (len(waited), len(called), len(step_end)))
    record = np.concatenate((waited, called, np.full(len(step_end), -1)))
    order = np.lexsort((event, at))
    at = at[order]
    before = np.append(begin, at[:-1])
    pause = union_all(time.collection, time.checkpoint)
    frame = pl.DataFrame(
        {
            "event": event[order],
            "record": record[order],
            "step": steps["row"].to_numpy()[
                np.minimum(np.searchsorted(step_end, at), len(step_end) - 1)
            ],
            "computation_ns": total_within(time.computation, before, at),
            "input_ns": total_within(time.input, before, at),
            "pause_ns": total_within(pause, before, at),
            "host_ns": total_within(time.host, before, at),
            "device_ns": total_within(time.device, before, at),
        }
    )
    return frame.cast(SEGMENTS)


def _calls(trace: Trace, begin_ns: int, end_ns: int) -> tuple[Int64, Int64]:
    """The timed calls of the steps, and when each could have started as far as this rank decides:
    it was launched, and the computation before it had ended."""
    calls = records(trace)
    record, first = np.unique(calls.record, return_index=True)
    start = calls.start_ns[first]
    ready = call_queues(trace).ready_ns[record]
    at = np.where(ready == ALWAYS_NS, start, np.minimum(ready, start))
    inside = (start >= begin_ns) & (start < end_ns)
    return record[inside], np.maximum(at[inside], begin_ns)


def _waits(trace: Trace, blocked: Intervals, begin_ns: int, end_ns: int) -> tuple[Int64, Int64]:
    """Of each stretch of waiting the call that ended it, and when."""
    calls = records(trace)
    inside = (blocked.end_ns > begin_ns) & (blocked.end_ns <= end_ns)
    until = blocked.end_ns[inside]
    order = np.argsort(calls.end_ns, kind="stable")
    last = np.searchsorted(calls.end_ns[order], until, "right") - 1
    known = last >= 0
    record = calls.record[order][last[known]]
    return record.astype(np.int64), until[known]
