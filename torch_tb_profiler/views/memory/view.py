"""The memory view: who allocates, when, for how long, and what is alive at the peak.

Definitions: ``docs/views-memory.md#how-it-is-counted``.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.memory.chosen_moment import chosen_moment
from torch_tb_profiler.analysis.memory.curve import MemoryCurve, curve
from torch_tb_profiler.analysis.memory.records import SHARED, MemoryRecords, memory_records
from torch_tb_profiler.analysis.memory.selected import selected_records, selected_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.joined_snapshot import join_facts, join_notes, snapshot_lines
from torch_tb_profiler.views.memory import PARAMETERS
from torch_tb_profiler.views.memory.answer import answer
from torch_tb_profiler.views.memory.by_category import (
    CATEGORIES,
    categories_frame,
    category_series,
    fragmentation_series,
)
from torch_tb_profiler.views.memory.curve import (
    PEAKS,
    curve_series,
    peaks_frame,
    recorded_peak_facts,
    recorded_peak_reasons,
)
from torch_tb_profiler.views.memory.events import EVENTS, events_frame
from torch_tb_profiler.views.memory.held import HELD, growth_facts, held_frame
from torch_tb_profiler.views.memory.largest import NO_RESERVED, peak_details
from torch_tb_profiler.views.memory.live_blocks import (
    LIVE_BLOCKS,
    live_blocks_frame,
    moment_facts,
    moments,
)
from torch_tb_profiler.views.memory.peak import COMPOSITION, composition_frame, composition_notes
from torch_tb_profiler.views.memory.recorded import (
    NO_CAPACITY,
    NO_EVENTS,
    OPERATORS,
    TENSORS,
    has_recorded,
    recorded_memory,
)
from torch_tb_profiler.views.memory.statistics import STATISTICS, statistics_frame
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.quality_notes import MEMORY_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Fact, Note, Series, Table, TableSpec, View
from torch_tb_profiler.views.shares import with_shares
from torch_tb_profiler.views.spec import ViewSpec

NO_TOTALS = (
    "The trace holds no allocator totals (torch before 1.10 wrote only the size of each event)."
)
NO_ADDRESSES = (
    "The trace holds no addresses (torch before 1.10), so releases cannot be paired with "
    "allocations."
)
NO_RELEASE = "The recording holds no release (or no allocation) of this block."
NO_EVENT = "This device has no memory event in the selection or before it."
NO_ALLOCATION = "Nothing was allocated on this device in the selection."
NO_OPERATOR = "Memory events outside operators have no calls."
NO_SHARED_TOTALS = "No counter reports how much memory the processes share."
NO_SHAPE = "No operator used a tensor of exactly this size while the block was live."
NO_END = "The allocation or the release of this memory was not recorded."
EARLIER_BLOCK = "The block was allocated before the recording."
EARLIER_COUNT = "The number of blocks allocated before the recording is unknown."


def memory(
    trace: Trace,
    selection: Selection,
    *,
    at_us: Decimal | None = None,
    at_operator: float | None = None,
) -> View:
    """The memory view of what is selected; times count from the start of the recording. What is
    alive is listed at ``at_us`` (trace time), else at the peak; of the tensors that a file lists
    those that are live at ``at_operator`` (position), else all.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    if trace.memory.is_empty() and has_recorded(trace):
        return recorded_memory(trace, selection, at_operator)
    records = memory_records(trace)
    chosen = selected_records(trace, selection)
    origin_ns = trace.meta.start_ns
    stretches = selected_time(trace, selection)
    curves = [curve(records, index, chosen, stretches) for index in range(len(records.devices))]
    composition = composition_frame(records, curves)
    categories = categories_frame(trace, curves)
    time_ns = chosen_moment(trace, at_us)
    at = moments(records, curves, time_ns)
    peaks = [_peak_bytes(points) for points in curves]
    details, advice = peak_details(trace, curves, categories)
    grown, growing = growth_facts(trace, peaks)
    peak_rows = peaks_frame(trace, selection, records.devices, curves, origin_ns)
    tables = (
        _with_reasons(
            STATISTICS,
            statistics_frame(trace, records, chosen, selection),
            {"calls": NO_OPERATOR, "alive_bytes": NO_ADDRESSES},
        ),
        _with_reasons(
            EVENTS,
            events_frame(records, chosen, origin_ns),
            dict.fromkeys(("allocation_us", "release_us", "duration_us"), NO_RELEASE)
            | {"module": EARLIER_BLOCK},
        ),
        _with_reasons(
            PEAKS,
            peak_rows,
            _peak_reasons(records, curves) | recorded_peak_reasons(selection),
        ),
        _with_reasons(COMPOSITION, composition, {"allocation_count": EARLIER_COUNT}),
        _with_reasons(LIVE_BLOCKS, live_blocks_frame(trace, at), _live_blocks_reasons(trace)),
        Table(CATEGORIES, categories),
        Table(HELD, held_frame(trace, chosen)),
    )
    return View(
        tables={table.spec.name: _ordered(table) for table in tables},
        series=_series(trace, curves, stretches),
        facts=(
            _origin_fact(origin_ns),
            *_peak_facts(records, curves),
            *recorded_peak_facts(peak_rows),
            *details,
            *grown,
            *moment_facts(records, at, time_ns, origin_ns),
            *join_facts(trace),
        ),
        notes=(
            *quality_notes(trace, MEMORY_ISSUES),
            *_address_notes(records, chosen),
            *_total_notes(records, chosen),
            *_composition_notes(records, curves, composition),
            *_oom(trace),
            *join_notes(trace),
            *growing,
            *advice,
        ),
    )


def _series(trace: Trace, curves: list[MemoryCurve], stretches: Intervals) -> dict[str, Series]:
    records, origin_ns = memory_records(trace), trace.meta.start_ns
    course = curve_series(records.devices, curves, origin_ns)
    if course is not None:
        begin, end = _bounds(trace, stretches)
        course = replace(course, lines=(*course.lines, *snapshot_lines(trace, begin, end)))
    candidates = {
        "memory_curve": course,
        "memory_by_category": category_series(trace, curves, stretches),
        "memory_fragmentation": fragmentation_series(records, curves, origin_ns),
    }
    return {name: series for name, series in candidates.items() if series is not None}


def _bounds(trace: Trace, stretches: Intervals) -> tuple[int, int]:
    """The time of a selection within that of the trace."""
    start, end = stretches
    if not len(start):
        return trace.meta.start_ns, trace.meta.end_ns
    return max(int(start[0]), trace.meta.start_ns), min(int(end[-1]), trace.meta.end_ns)


def _peak_bytes(points: MemoryCurve) -> int | None:
    peak = points.peak()
    return None if peak is None else int(points.allocated_bytes[peak])


def _live_blocks_reasons(trace: Trace) -> dict[str, str]:
    no_shape = missing_reason(trace, "input_shapes", NO_SHAPE)
    return {
        "module": EARLIER_BLOCK,
        "phase": f"{EARLIER_BLOCK} Or the phases of the steps are not known.",
        "shape": no_shape,
        "dtype": no_shape,
        "allocation_us": EARLIER_BLOCK,
        "release_us": NO_END,
        "lifetime_us": NO_END,
    }


def _with_reasons(spec: TableSpec, frame: pl.DataFrame, reasons: dict[str, str]) -> Table:
    return Table(spec, frame, needed(frame, reasons))


def _ordered(table: Table) -> Table:
    """``table`` in its default order, with its shares where it has some."""
    ordered = in_default_order(table)
    if table.spec is not STATISTICS:
        return ordered
    return with_shares(ordered, "self_allocation_bytes", NO_ALLOCATION, within="device")


def _no_peak(records: MemoryRecords, device: int) -> str:
    """Why a device has no peak, where it has none."""
    if records.devices[device].label == SHARED:
        return NO_SHARED_TOTALS
    return NO_EVENT if records.has_totals[records.device == device].any() else NO_TOTALS


def _peak_reasons(records: MemoryRecords, curves: list[MemoryCurve]) -> dict[str, str]:
    without = [index for index, points in enumerate(curves) if points.peak() is None]
    unknown = " ".join(sorted({_no_peak(records, index) for index in without}))
    return {
        "peak_allocated_bytes": unknown,
        "peak_us": unknown,
        "peak_reserved_bytes": NO_RESERVED if records.has_totals.any() else NO_TOTALS,
        "device_memory_bytes": NO_CAPACITY,
    }


def _origin_fact(origin_ns: int) -> Fact:
    return Fact(
        "origin_us",
        "Start of the recording",
        origin_ns / NS_PER_US,
        "us",
        None,
        "Trace time of 0 in this view: add it to a time here to get start_us and end_us.",
    )


def _peak_facts(records: MemoryRecords, curves: list[MemoryCurve]) -> list[Fact]:
    facts: list[Fact] = []
    for index, (device, points) in enumerate(zip(records.devices, curves, strict=True)):
        peak = points.peak()
        value = None if peak is None else int(points.allocated_bytes[peak])
        reason = None if value is not None else _no_peak(records, index)
        text = "Largest total of live allocations in the selection."
        scope = device.label
        facts.append(
            Fact("peak_allocated_bytes", "Peak Allocated", value, "bytes", scope, text, reason)
        )
    return facts


def _address_notes(records: MemoryRecords, chosen: Bools) -> list[Note]:
    if len(records.time_ns) and not records.has_addresses:
        return [
            Note(
                "quality",
                "no_addresses",
                "info",
                "The tables of memory events and of live allocations at the peak are empty. "
                f"{NO_ADDRESSES}",
            )
        ]
    size, pairs = records.size_bytes, records.pairs
    lone = int((chosen & (size < 0) & (pairs.allocation < 0)).sum())
    reused = int((chosen & pairs.reused).sum())
    notes: list[Note] = []
    if lone:
        text = f"{lone:,} releases free memory that was allocated before the recording."
        notes.append(Note("quality", "release_without_allocation", "info", text, {"count": lone}))
    if reused:
        text = (
            f"{reused:,} allocations have no recorded release, but their addresses were "
            "allocated again; they count as live until then."
        )
        notes.append(Note("quality", "address_reused", "info", text, {"count": reused}))
    return notes


def _total_notes(records: MemoryRecords, chosen: Bools) -> list[Note]:
    of_shared = np.array([device.label == SHARED for device in records.devices], np.bool_)
    is_shared = chosen & of_shared[records.device]
    shared = int(is_shared.sum())
    without = int((chosen & ~records.has_totals & ~is_shared).sum())
    notes: list[Note] = []
    if shared:
        text = (
            f"{shared:,} memory events concern memory that processes share (batches from loader "
            "workers). The allocator's totals do not include it, so it is shown as a device of "
            f"its own: {SHARED}."
        )
        notes.append(Note("quality", "shared_memory", "info", text, {"count": shared}))
    if without:
        text = f"{without:,} memory events carry no running total and are not in the chart."
        notes.append(Note("quality", "no_totals", "info", text, {"count": without}))
    return notes


def _composition_notes(
    records: MemoryRecords, curves: list[MemoryCurve], composition: pl.DataFrame
) -> list[Note]:
    peaks = [
        (device.label, int(points.allocated_bytes[peak]))
        for device, points in zip(records.devices, curves, strict=True)
        if (peak := points.peak()) is not None
    ]
    return composition_notes(composition, [name for name, _ in peaks], [top for _, top in peaks])


def _oom(trace: Trace) -> list[Note]:
    events = trace.memory.filter(pl.col("is_oom") == 1)
    if not events.height:
        return []
    largest = int(np.max(np.abs(events["bytes"].fill_null(0).to_numpy())))
    text = (
        f"The allocator ran out of memory {events.height:,} times in this recording; the largest "
        f"request was {size_text(largest)}."
    )
    evidence: dict[str, object] = {"count": events.height, "largest_bytes": largest}
    return [Note("quality", "out_of_memory", "warning", text, evidence)]


def _missing(trace: Trace) -> str | None:
    if trace.memory.height or has_recorded(trace):
        return None
    return missing_reason(trace, "memory", NO_EVENTS)


SPEC = ViewSpec(
    name="memory",
    title="Memory",
    help="Which operators and modules allocate the memory, and what holds it at the peak?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(
        STATISTICS,
        EVENTS,
        PEAKS,
        COMPOSITION,
        LIVE_BLOCKS,
        CATEGORIES,
        HELD,
        TENSORS,
        OPERATORS,
    ),
    function=memory,
    missing=_missing,
    answer=answer,
)
