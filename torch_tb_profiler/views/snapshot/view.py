"""The view of a memory snapshot: what is reserved, what uses it, who asked for it, and why an
allocation failed.

Definitions: ``docs/views-snapshot.md``.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from torch_tb_profiler.analysis.memory.chosen_moment import chosen_moment
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.joined_snapshot import join_facts, join_notes, trace_lines
from torch_tb_profiler.views.quality_notes import quality_notes
from torch_tb_profiler.views.schema import Table, View
from torch_tb_profiler.views.snapshot import PARAMETERS
from torch_tb_profiler.views.snapshot.columns import SETTINGS, TABLES
from torch_tb_profiler.views.snapshot.facts import snapshot_facts, snapshot_notes
from torch_tb_profiler.views.snapshot.history import curve, history_table
from torch_tb_profiler.views.snapshot.holders import (
    by_metadata_table,
    by_owner_table,
    by_stack_table,
    live_blocks_table,
    moments_of,
)
from torch_tb_profiler.views.snapshot.rows import filled
from torch_tb_profiler.views.snapshot.segments import blocks_table, devices_table, segments_table
from torch_tb_profiler.views.snapshot_sentence import snapshot_sentence
from torch_tb_profiler.views.spec import ViewSpec

ISSUES = frozenset(
    {
        "truncated",
        "snapshot_without_times",
        "snapshot_stacks_left_out",
        "snapshot_blocks_missing",
    }
)
NO_SNAPSHOT = (
    "The recording is not a memory snapshot. torch.cuda.memory._dump_snapshot(PATH) writes one "
    "after torch.cuda.memory._record_memory_history()."
)


def snapshot(trace: Trace, selection: Selection, *, at_us: Decimal | None = None) -> View:
    """What a snapshot holds; a time range narrows the history only, ``at_us`` (trace time) chooses
    a moment."""
    time_ns = chosen_moment(trace, at_us)
    moments = moments_of(trace, time_ns)
    shown = "peak" if time_ns is None else "chosen"
    devices = devices_table(trace)
    tables: tuple[Table, ...] = (
        devices,
        by_stack_table(trace, moments),
        by_owner_table(trace, moments),
        by_metadata_table(trace, moments),
        segments_table(trace),
        live_blocks_table(trace, [moment for moment in moments if moment.name == shown]),
        blocks_table(trace),
        history_table(trace, selection),
        filled(SETTINGS, side_frame(trace, "snapshot_settings"), {}),
    )
    course = curve(trace)
    if course is not None:
        course = replace(course, lines=(*course.lines, *trace_lines(trace)))
    return View(
        tables={table.spec.name: table for table in tables},
        series={} if course is None else {"snapshot_curve": course},
        facts=(*snapshot_facts(trace, devices), *join_facts(trace)),
        notes=(*snapshot_notes(trace), *join_notes(trace), *quality_notes(trace, ISSUES)),
        answer=snapshot_sentence(trace),
    )


def _is_snapshot_alone(trace: Trace) -> bool:
    """Whether the trace is a snapshot and not a recording beside which one lies."""
    return trace.meta.format == "snapshot"


def _missing(trace: Trace) -> str | None:
    return None if "snapshot_segments" in trace.side else NO_SNAPSHOT


SPEC = ViewSpec(
    name="snapshot",
    title="Memory: Snapshot",
    help="What does the allocator hold, which code allocated it, and why did an allocation fail?",
    scope="trace",
    parameters=PARAMETERS,
    tables=TABLES,
    function=snapshot,
    missing=_missing,
    leading_facts=("reserved_bytes", "allocated_bytes", "largest_free_bytes"),
    is_first=_is_snapshot_alone,
)
