"""Reads synchronizations with devices and recorded CUDA events, on the rows of their streams."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.enums import SYNCHRONIZATIONS
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart, build_table
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.tracks import NO_STREAM
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64

WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
EVENTS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"


def read_synchronization(export: Export) -> list[SlicePart]:
    """Read synchronizations, and recorded events if the export has their times (since schema 3.24).
    Call it after reading the device work, from which the device of each context is known."""
    waits = TimedRows(export.database, WAITS, export.quality)
    kinds = SYNCHRONIZATIONS.read(export.database)
    known, inverse = distinct(waits["syncType"])
    codes = export.names.codes(kinds.get(kind, "Synchronization") for kind in known.tolist())
    parts = [_device_slices(export, waits, codes[inverse], "cuda_sync", waits["end"])]
    if "timestamp" in export.database.tables.get(EVENTS, ()):
        events = TimedRows(export.database, EVENTS, export.quality, start="timestamp")
        name = np.full(len(events), export.names.code("Event Record"), np.int32)
        parts.append(_device_slices(export, events, name, "cuda_event", events.start_ns))
    return parts


def _device_slices(
    export: Export, rows: TimedRows, name_code: Int32, raw_category: str, end_ns: Int64
) -> SlicePart:
    location = rows.columns("deviceId", "contextId", "streamId", "globalPid", "correlationId")
    pid, context = location["globalPid"], location["contextId"]
    device = export.devices.device_numbers_of_contexts(pid, context, location["deviceId"])
    stream = np.where(location["streamId"] == NO_STREAM, ABSENT, location["streamId"])
    slices = SliceColumns.build(
        category=Category.DEVICE_SYNC,
        raw_category_code=export.names.code(raw_category),
        name_code=name_code,
        track=export.tracks.stream_tracks(pid, device, context, stream),
        start_ns=rows.start_ns,
        end_ns=end_ns,
        correlation=location["correlationId"],
    )
    row = np.arange(len(rows))
    details = build_table("device", len(rows), slice=row, device=device, stream=stream)
    return SlicePart(slices, {"device": details})
