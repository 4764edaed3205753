"""A memory snapshot that is joined to a trace: how far both agree, and its curve.

Definitions: ``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.snapshot.agreement import (
    CurveDifference,
    SnapshotAgreement,
    snapshot_agreement,
)
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments, label_of
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text, percent_text, size_text
from torch_tb_profiler.views.schema import Fact, Line, Note

NO_MATCHES = "The trace has no memory events of GPUs, so that no allocation can be matched."
NO_CURVE = "The trace and the snapshot have no totals of the same device and time."
MAX_POINTS = 4000
"""Points of one line."""


def join_notes(trace: Trace) -> list[Note]:
    """A sentence on how far snapshot and trace agree; none where no snapshot is joined."""
    known = snapshot_agreement(trace)
    if known is None:
        return []
    evidence: dict[str, object] = {
        "file": known.file,
        "offset_us": known.offset_ns / NS_PER_US,
        "matched": known.matched,
        "trace_allocations": known.own,
        "snapshot_allocations": known.other,
    }
    text = f"The memory snapshot {known.file} is of this process: {_clock_text(known)}."
    if known.curves:
        worst = max(known.curves, key=lambda each: each.max_bytes)
        text += f" {_curve_text(worst)}"
    return [Note("quality", "snapshot_agreement", "info", text, evidence)]


def _clock_text(known: SnapshotAgreement) -> str:
    if known.residual_ns is None:
        return (
            "both count from 1970, which could not be checked, because the trace has no memory "
            "events of GPUs; operators are those that ran alone when memory was allocated"
        )
    least = max(min(known.own, known.other), 1)
    return (
        f"{known.matched:,} of the {known.own:,} allocations of the trace and {known.other:,} of "
        f"the snapshot in the time of both ({percent_text(100 * known.matched / least)}) have the "
        f"same address and a fitting size; its clock was moved by "
        f"{duration_text(known.offset_ns / NS_PER_US)} (residual "
        f"{duration_text(known.residual_ns / NS_PER_US)})"
    )


def _curve_text(worst: CurveDifference) -> str:
    share = percent_text(100 * worst.max_bytes / max(worst.peak_bytes, 1))
    return (
        f"What both say is allocated on {label_of(worst.device)} differs by at most "
        f"{size_text(worst.max_bytes)} ({share} of the peak), {size_text(worst.mean_bytes)} on "
        "average: a snapshot has the requested sizes, a trace the blocks."
    )


def join_facts(trace: Trace) -> tuple[Fact, ...]:
    """The figures of :func:`join_notes`; none where no snapshot is joined."""
    known = snapshot_agreement(trace)
    if known is None:
        return ()
    least = min(known.own, known.other)
    share = 100 * known.matched / least if least else None
    offset = known.offset_ns / NS_PER_US if known.residual_ns is not None else None
    facts = [
        Fact(
            "snapshot_matched_pct", "Matched with the snapshot", share, "pct", None,
            "Allocations with the same address and a fitting size in trace and snapshot, as share "
            "of those of the recording that has fewer, in the time of both.",
            None if share is not None else NO_MATCHES,
        ),
        Fact(
            "snapshot_offset_us", "Offset of the snapshot", offset, "us", None,
            "What was added to the times of the snapshot: the median over matched allocations.",
            None if offset is not None else NO_MATCHES,
        ),
    ]  # fmt: skip
    for each in known.curves:
        device = label_of(each.device)
        facts += [
            Fact(
                "snapshot_max_difference_bytes", "Largest Difference to the Snapshot",
                each.max_bytes, "bytes", device,
                "Largest absolute difference of allocated memory between trace and snapshot.",
            ),
            Fact(
                "snapshot_mean_difference_bytes", "Mean Difference to the Snapshot",
                round(each.mean_bytes), "bytes", device,
                "The absolute difference, averaged over the time of both.",
            ),
        ]  # fmt: skip
    return tuple(facts)


def snapshot_lines(trace: Trace, start_ns: int, end_ns: int) -> list[Line]:
    """What the joined snapshot says is allocated in a range of trace time, per device."""
    if snapshot_agreement(trace) is None:
        return []
    events = side_frame(trace, "snapshot_events")
    lines = []
    for moments in device_moments(trace):
        part = events.slice(moments.first, moments.last - moments.first + 1)
        line = _line(
            f"{label_of(moments.device)} allocated (snapshot)",
            (part["time_ns"].to_numpy(), part["allocated_bytes"].to_numpy()),
            (start_ns, end_ns, trace.meta.start_ns),
        )
        lines += [] if line is None else [line]
    return lines


def trace_lines(trace: Trace) -> list[Line]:
    """What the trace says is allocated on each GPU, beside the curve of the snapshot."""
    if snapshot_agreement(trace) is None:
        return []
    records = memory_records(trace)
    lines = []
    for index, device in enumerate(records.devices):
        rows = np.flatnonzero((records.device == index) & records.has_totals)
        if device.type == CPU_TYPE or not len(rows):
            continue
        times = records.time_ns[rows]
        line = _line(
            f"{device.label} allocated (trace)",
            (times, records.allocated_bytes[rows]),
            (int(times[0]), int(times[-1]), trace.meta.start_ns),
        )
        lines += [] if line is None else [line]
    return lines


def _line(name: str, curve: tuple[Int64, Int64], window: tuple[int, int, int]) -> Line | None:
    """A curve of (time, bytes) in a range, times from an origin; of many points those of each
    stretch with the most and the least, in order."""
    times, values = curve
    start_ns, end_ns, origin_ns = window
    first = max(int(np.searchsorted(times, start_ns, "right")) - 1, 0)
    rows = np.arange(first, int(np.searchsorted(times, end_ns, "right")))
    if not len(rows):
        return None
    if len(rows) > MAX_POINTS:
        parts: Sequence[Int64] = np.array_split(rows, MAX_POINTS // 2)
        extremes = [
            sorted((int(part[np.argmax(values[part])]), int(part[np.argmin(values[part])])))
            for part in parts
        ]
        rows = np.unique(np.array(extremes))
    x = (np.maximum(times[rows], start_ns) - origin_ns) / NS_PER_US
    return Line(name, x.tolist(), values[rows].astype(np.float64).tolist())
