"""Waiting for devices, and events recorded on them: on the rows of their streams."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.enums import SYNCHRONIZATIONS
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import Part, Slices, rows_of
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.tracks import NO_STREAM
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64

WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
EVENTS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"


def read_synchronization(export: Export) -> list[Part]:
    """Waits, and recorded events as far as the export has their times (since schema 3.24). To be
    read after the work on devices, which tells the device of each context."""
    waits = TimedRows(export.database, WAITS, export.quality)
    kinds = SYNCHRONIZATIONS.read(export.database)
    known, place = distinct(waits["syncType"])
    codes = export.names.codes(kinds.get(kind, "Synchronization") for kind in known.tolist())
    made = [_on_streams(export, waits, codes[place], "cuda_sync", waits["end"])]
    if "timestamp" in export.database.tables.get(EVENTS, ()):
        events = TimedRows(export.database, EVENTS, export.quality, start="timestamp")
        name = np.full(len(events), export.names.code("Event Record"), np.int32)
        made.append(_on_streams(export, events, name, "cuda_event", events.start_ns))
    return made


def _on_streams(
    export: Export, rows: TimedRows, name_code: Int32, word: str, end_ns: Int64
) -> Part:
    where = rows.columns("deviceId", "contextId", "streamId", "globalPid", "correlationId")
    pid, context = where["globalPid"], where["contextId"]
    device = export.devices.of_contexts(pid, context, where["deviceId"])
    stream = np.where(where["streamId"] == NO_STREAM, ABSENT, where["streamId"])
    slices = Slices.of(
        category=Category.DEVICE_SYNC,
        raw_category_code=export.names.code(word),
        name_code=name_code,
        track=export.tracks.of_streams(pid, device, context, stream),
        start_ns=rows.start_ns,
        end_ns=end_ns,
        correlation=where["correlationId"],
    )
    every = np.arange(len(rows))
    details = rows_of("device", len(rows), slice=every, device=device, stream=stream)
    return Part(slices, {"device": details})
