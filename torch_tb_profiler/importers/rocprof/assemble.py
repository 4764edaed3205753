"""Recordings of processes → event columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.durations import sanitize_durations
from torch_tb_profiler.importers.nsys.parts import SlicePart, join_parts
from torch_tb_profiler.importers.rocprof.assembly import LinkedPart, RocprofAssembly, host_slices
from torch_tb_profiler.importers.rocprof.device_work import read_dispatches, read_operations
from torch_tb_profiler.importers.rocprof.devices import GpuNumbers
from torch_tb_profiler.importers.rocprof.markers import read_markers
from torch_tb_profiler.importers.rocprof.memory import read_memory
from torch_tb_profiler.importers.rocprof.missing_data import not_recorded
from torch_tb_profiler.importers.rocprof.recording import ProcessRecording
from torch_tb_profiler.importers.rocprof.samples import read_samples
from torch_tb_profiler.importers.rocprof.tracks import RocprofTracks
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Int64
from torch_tb_profiler.trace.info import JobInfo, TraceInfo
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.quality import QualityReport

WORK = (("dispatches", read_dispatches), ("operations", read_operations))
OTHERS = (("allocations", read_memory), ("samples", read_samples))
"""Tables of recordings, and the functions that read them."""

NO_ROW = -1
"""Marks a slice without a launch."""


class RecordingFile(Struct, frozen=True):
    """What is known of a file apart from its recordings.

    Attributes:
        recorder: Name of the recorder in ``knowledge/recorders.toml``.
        version: Version of the recorder or of its file's schema.
    """

    recorder: str
    version: str | None = None


def assemble(
    recordings: Sequence[ProcessRecording],
    texts: TextCodes,
    file: RecordingFile,
    quality: QualityReport,
) -> EventColumns:
    """Put the recordings of a file together; their tables are empty afterwards."""
    gpus = GpuNumbers(recordings)
    tracks = RocprofTracks(recordings, gpus)
    assembly = RocprofAssembly(recordings, texts, gpus, tracks, quality)
    numbers = range(len(recordings))
    calls = [_calls(assembly, number) for number in numbers]
    work = [
        read(assembly, number)
        for number in numbers
        for table, read in WORK
        if recordings[number].tables.get(table)
    ]
    launch = _launches(calls, work)
    parts = [each.part for each in (*calls, *work)]
    parts.append(read_markers(assembly))
    for number in numbers:
        parts += [
            read(assembly, number) for table, read in OTHERS if recordings[number].tables.get(table)
        ]
    size = sum(len(part.slices) for part in parts)
    launch = np.concatenate([launch, np.full(size - len(launch), NO_ROW)])
    tables = join_parts(parts)
    sanitize_durations(tables["slices"], quality)
    quality.add("text_cut", texts.cut_count)
    info = TraceInfo(
        recorder=file.recorder,
        recorder_version=file.version,
        devices=gpus.infos(),
        job=_job(recordings),
        not_recorded=not_recorded(tables, gpus.infos()),
    )
    return EventColumns(
        format="rocprof",
        tables=tables,
        strings=texts.strings,
        tracks=tracks.tracks(),
        base_ns=0,
        time_unit_ns=1,
        info=info,
        quality=quality,
        launch=launch,
    )


def _job(recordings: Sequence[ProcessRecording]) -> JobInfo | None:
    """The rank of the process of a file; None where a file has several, or states none."""
    if len(recordings) != 1 or recordings[0].rank is None:
        return None
    return JobInfo(rank=recordings[0].rank, world_size=recordings[0].world_size)


def _calls(assembly: RocprofAssembly, recording: int) -> LinkedPart:
    rows = assembly.take(recording, "calls")
    slices = host_slices(assembly, recording, rows)
    return LinkedPart(recording, SlicePart(slices), rows["correlation"])


def _launches(calls: Sequence[LinkedPart], work: Sequence[LinkedPart]) -> Int64:
    """Per call and piece of work, in this order, the row of the call that launched it.

    Ids of correlation are unique within a recording. Where a file has several, the id of work whose
    call is not recorded is removed: it could match a call of another process.
    """
    rows = [np.empty(0, np.int64)]
    first = 0
    calls_by_id: dict[int, tuple[Int64, Int64]] = {}
    for each in calls:
        is_call = each.part.slices.category == Category.RUNTIME
        at = np.flatnonzero(is_call & (each.correlation > 0))
        known, position = np.unique(each.correlation[at], return_index=True)
        calls_by_id[each.recording] = known, at[position] + first
        first += len(each.part.slices)
        rows.append(np.full(len(each.part.slices), NO_ROW))
    for each in work:
        known, call_rows = calls_by_id[each.recording]
        launch = np.append(call_rows, NO_ROW)[positions_in(known, each.correlation)]
        if len(calls) > 1:
            slices = each.part.slices
            slices.correlation = np.where(launch == NO_ROW, ABSENT, slices.correlation)
        rows.append(launch)
    return np.concatenate(rows)
