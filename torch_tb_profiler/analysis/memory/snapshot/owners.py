"""Which operator, module, phase, category and step the blocks of a joined snapshot belong to.

Definitions: ``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.memory.categories import (
    CATEGORY_NAMES,
    BlockTimes,
    categorize,
    memory_blocks,
)
from torch_tb_profiler.analysis.memory.owners import module_labels, operator_labels
from torch_tb_profiler.analysis.memory.passes import FAR
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.snapshot.joining import (
    JOIN,
    event_allocations,
    own_allocations,
)
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import (
    BEFORE,
    Lifetimes,
    lifetimes,
    side_frame,
)
from torch_tb_profiler.analysis.memory.snapshot.matching import match_allocations
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

BY_MATCH, BY_TIME = "allocation", "time"
"""How the operator of a block is known: the trace recorded the allocation itself, or one operator
alone ran when the snapshot's event happened."""

NEARBY_NS = 2_000_000
"""Matching with a known offset: offsets beyond this are none."""

COLUMNS = ("operator", "module", "phase", "category", "step", "owner_by")


class RecordOfEvent(Struct, frozen=True, eq=False):
    """The allocations of the trace that are events of the snapshot; arrays are aligned.

    Attributes:
        event: Rows of ``snapshot_events``, ascending.
        record: The row of ``memory_records`` of each.
    """

    event: Int64
    record: Int64


def is_joined(trace: Trace) -> bool:
    """Whether a snapshot is joined to the trace."""
    return JOIN in trace.side


@per_trace
def record_of_event(trace: Trace) -> RecordOfEvent:
    """The allocations that both recorded; none where the trace has no memory events."""
    own, other = own_allocations(trace), event_allocations(trace)
    match = None
    if len(own.record) and len(other.event):
        match = match_allocations(own.allocations, other.allocations, NEARBY_NS)
    if match is None:
        return RecordOfEvent(np.empty(0, np.int64), np.empty(0, np.int64))
    event, record = other.event[match.other], own.record[match.own]
    order = np.argsort(event)
    return RecordOfEvent(event[order], record[order])


@per_trace
def block_owners(trace: Trace) -> pl.DataFrame:
    """One row per block of :func:`lifetimes`, with :data:`COLUMNS` as text; all null where the
    block was allocated before the snapshot's first event, outside the trace's time, or where
    several threads ran operators and the trace did not record the allocation.
    """
    lived = lifetimes(trace)
    if not is_joined(trace):
        schema = dict.fromkeys(COLUMNS, pl.String)
        return pl.DataFrame({name: [None] * len(lived.born) for name in COLUMNS}, schema)
    times = side_frame(trace, "snapshot_events")["time_ns"].to_numpy()
    time = np.append(times, 0)[np.where(lived.born >= 0, lived.born, -1)]
    inside = (lived.born != BEFORE) & (lived.device >= 0)
    inside &= (time >= trace.meta.start_ns) & (time <= trace.meta.end_ns)
    record = _records(trace, lived)
    by_time = np.flatnonzero(inside & (record < 0))
    records = memory_records(trace)
    operator = gather(records.operator, record)
    operator[by_time] = operators_at(trace, time[by_time])
    known = (record >= 0) | (operator >= 0)
    phase, category = _categories(trace, lived, record, operator)
    steps = _steps_at(trace, time)
    memory = trace.memory.filter(trace.memory["is_oom"].fill_null(0) != 1)
    owner = gather(indices(memory["owner"]), record)
    frame = gather(indices(memory["frame"]), record)
    owner = np.where(record >= 0, owner, operator)
    frame = np.where(record >= 0, frame, gather(indices(trace.slices["frame"]), operator))
    nobody = pl.Series(~known)
    everyone = np.arange(len(record))
    return pl.DataFrame(
        {
            "operator": operator_labels(trace, operator).gather(everyone).set(nobody, None),
            "module": module_labels(trace, owner, frame).gather(everyone).set(nobody, None),
            "phase": _texts([each.name.lower() for each in Phase], np.where(known, phase, -1)),
            "category": _texts([*CATEGORY_NAMES], np.where(known, category, -1)),
            "step": _texts(trace.steps["name"].to_list(), np.where(inside, steps, -1)),
            "owner_by": _texts(
                [BY_MATCH, BY_TIME], np.where(record >= 0, 0, np.where(operator >= 0, 1, -1))
            ),
        }
    )


def _records(trace: Trace, lived: Lifetimes) -> Int64:
    """Per block the record of its allocation in the trace, -1 for none."""
    both = record_of_event(trace)
    events = side_frame(trace, "snapshot_events").height
    of_event = np.full(events + 1, -1, np.int64)
    of_event[both.event] = both.record
    return of_event[np.where(lived.born >= 0, lived.born, -1)]


def operators_at(trace: Trace, time_ns: Int64) -> Int64:
    """Per time the innermost operator that runs then, -1 where none does, or those of several
    threads do."""
    slices = trace.slices
    rows = np.flatnonzero(operator_mask(trace))
    track = slices["track"].to_numpy()[rows]
    start = slices["start_ns"].to_numpy()[rows]
    end = start + slices["dur_ns"].to_numpy()[rows]
    operator = np.full(len(time_ns), -1, np.int64)
    threads = np.zeros(len(time_ns), np.int64)
    for number in distinct_values(track).tolist():
        first, behind = np.searchsorted(track, [number, number + 1])
        ends = end[first:behind]
        preceding = np.searchsorted(start[first:behind], time_ns, "right")
        at = last_above(ends, preceding, time_ns - 1)
        operator = np.where(at >= 0, rows[first + np.maximum(at, 0)], operator)
        threads += at >= 0
    return np.where(threads == 1, operator, -1)


def _categories(
    trace: Trace, lived: Lifetimes, record: Int64, operator: Int64
) -> tuple[Int64, Int64]:
    """Phase and category of each block: as on the page of memory where the trace recorded the
    allocation, else by the same rules from the times of the snapshot."""
    times = side_frame(trace, "snapshot_events")["time_ns"].to_numpy()
    start = np.append(times, 0)[np.where(lived.born >= 0, lived.born, -1)]
    end = np.append(times, FAR)[np.minimum(lived.died, len(times))]
    end = np.where(end > trace.meta.end_ns, FAR, end)
    process = indices(trace.tracks.sort("track")["process"])
    of_operator = gather(process, gather(indices(trace.slices["track"]), operator))
    own = categorize(trace, BlockTimes(of_operator, lived.size_bytes, start, end, operator))
    recorded = memory_blocks(trace)
    is_recorded = record >= 0
    phase = np.where(is_recorded, gather(recorded.phase.astype(np.int64), record), own.phase)
    category = np.where(
        is_recorded, gather(recorded.category.astype(np.int64), record), own.category
    )
    return phase, category


def _steps_at(trace: Trace, time_ns: Int64) -> Int64:
    """Per time the row of the step of the first process that the host was in, -1 for none."""
    steps = trace.steps.with_row_index("row").filter(pl.col("slice").is_not_null())
    steps = steps.filter(pl.col("process") == pl.col("process").min()).sort("host_start_ns")
    if steps.is_empty():
        return np.full(len(time_ns), -1, np.int64)
    start, end = (steps[name].to_numpy() for name in ("host_start_ns", "host_end_ns"))
    at = np.searchsorted(start, time_ns, "right") - 1
    is_inside = (at >= 0) & (time_ns < end[np.maximum(at, 0)])
    return np.where(is_inside, indices(steps["row"])[np.maximum(at, 0)], -1)


def _texts(texts: list[str], code: Int64) -> pl.Series:
    """``texts[code]``, null for -1."""
    codes = pl.Series(code.astype(np.int64))
    return pl.Series(texts, dtype=pl.String).gather(codes.set(codes < 0, None))
