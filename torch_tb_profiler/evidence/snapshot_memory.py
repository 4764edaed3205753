"""What a memory snapshot holds, as the first line of a page that is about time."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments, label_of
from torch_tb_profiler.evidence.finding import plain_evidence
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Column, Note, TableSpec

CODE = "snapshot_memory"
TITLE = "Memory snapshot"
EVIDENCE = TableSpec(
    CODE,
    TITLE,
    "One row per device.",
    (
        Column("device", "Device", "string", None, "The device."),
        Column(
            "reserved_bytes",
            "Reserved",
            "integer",
            "bytes",
            "Its segments at the end, summed.",
            family="memory",
        ),
        Column(
            "peak_allocated_bytes",
            "Peak Allocated",
            "integer",
            "bytes",
            "The most that was allocated after an event of the snapshot.",
            family="memory",
        ),
    ),
)
REASONS = {"peak_allocated_bytes": "The snapshot has no events of this device."}


def snapshot_memory(trace: Trace) -> Note | None:
    """The note; None for a recording that is no snapshot alone."""
    if trace.meta.format != "snapshot":
        return None
    segments, events = side_frame(trace, "snapshot_segments"), side_frame(trace, "snapshot_events")
    rows = [
        (
            label_of(each.device),
            int(segments.filter(pl.col("device") == each.device)["total_bytes"].sum()),
            None if each.peak < 0 else int(events["allocated_bytes"][each.peak]),
        )
        for each in device_moments(trace)
    ]
    rows.sort(key=lambda row: -max(row[1], row[2] or 0))
    if not rows:
        return None
    device, reserved_bytes, peak_bytes = rows[0]
    peak = "" if peak_bytes is None else f"; at its peak {size_text(peak_bytes)} were allocated"
    others = "" if len(rows) == 1 else f", the first of {len(rows)} devices,"
    text = (
        "The recording is a memory snapshot, which records memory, not time. "
        f"{device}{others} has {size_text(reserved_bytes)} reserved at its end{peak}. "
        "Memory > Snapshot says which code holds it."
    )
    table = pl.DataFrame(rows, schema=EVIDENCE.polars_schema(), orient="row")
    source = {"view": "snapshot", "table": "by_stack", "sort": "-size_bytes"}
    evidence = plain_evidence(TITLE, build_table(EVIDENCE, table, REASONS), source)
    return Note("advice", CODE, "info", text, evidence)
