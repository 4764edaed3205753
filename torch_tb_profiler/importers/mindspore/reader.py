"""Reads the files of one device: the timeline if there is one, and all others as side tables.

Without a timeline the trace has no events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.mindspore.cpu import CpuSample
from torch_tb_profiler.importers.mindspore.device_data import (
    FILE_READERS,
    PREFERRED_KINDS,
    DeviceData,
    SideTableRows,
)
from torch_tb_profiler.importers.mindspore.files import (
    TIMELINES,
    DeviceFiles,
    select_device_files,
)
from torch_tb_profiler.importers.mindspore.memory_record import TOTALS
from torch_tb_profiler.importers.mindspore.parsing import (
    UnreadableFileError,
    read_bytes,
    read_json,
    read_text,
)
from torch_tb_profiler.importers.mindspore.timeline import add_steps, read_timeline
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Folder, Source
from torch_tb_profiler.trace.columns import (
    SAMPLE_COLUMNS,
    TABLE_COLUMNS,
    ColumnArrays,
    EventColumns,
    empty_table,
)
from torch_tb_profiler.trace.info import (
    Capability,
    DeviceInfo,
    NotRecorded,
    RecordingSettings,
    TraceInfo,
)
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "mindspore"
RECORDER = "mindspore.Profiler"

CONTENT_READERS: dict[str, Callable[[Source, QualityReport], Any]] = {
    "json": read_json, "pb": read_bytes, "csv": read_text, "txt": read_text,
}  # fmt: skip
"""Ending of a file → how it is read."""

NO_TIMELINE = "the recording has no timeline file (ascend_timeline_display_*.json)"
NO_HOST = "MindSpore's timeline has device events only, no host events"
NOT_ON_NPU = "an NPU has no such metric"
NO_STEPS = "the clock of MindSpore's step trace cannot be matched with that of its timeline"

_FROM_EVENTS: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "kernels", "copies", "launches", "communication", "steps", "ranges", "counters",
)  # fmt: skip
_FROM_HOST: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "launches",
)  # fmt: skip
_FROM_GPU: tuple[Capability, ...] = ("occupancy", "blocks_per_sm", "shared_memory", "registers")


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read the trace of one device: its files in a folder, or its timeline alone.

    Raises:
        TraceFormatError: none of the files could be read, or none is from MindSpore.
        StorageError, OSError: a file cannot be read.
        UnpackLimitError: one unpacks too far.
    """
    if isinstance(source, Source):
        source = Folder(source.name, {source.name.replace("\\", "/"): partial(_itself, source)})
    files = select_device_files(source.files)
    if files is None:
        raise _not_a_trace_error(source.name, "no file has a name of that profiler")
    data = DeviceData(SideTableRows(QualityReport()), files.device)
    read_bytes = _read_files(files, data, reading)
    events_reading = replace(reading, progress=_progress_after(read_bytes, reading))
    columns, not_recorded = _events(files, data, events_reading)
    for name in files.left_out:
        data.quality.add("other_device_files", 1, name)
    columns.quality.merge(data.quality)
    columns.format = FORMAT
    columns.side = (*columns.side, *data.tables.side_tables())
    columns.tables["samples"] = _sample_table(data.samples, columns.strings)
    _add_memory_record(columns, data)
    records_memory = "memory_usage" in files.by_kind or "memory_record" in files.by_kind
    columns.info = TraceInfo(
        framework="MindSpore",
        recorder=RECORDER,
        job=data.job,
        recording=RecordingSettings(profile_memory=records_memory or None),
        not_recorded=not_recorded,
    )
    if data.device_bytes is not None:
        device = DeviceInfo(files.device, memory_bytes=data.device_bytes)
        columns.info = replace(columns.info, devices=(device,))
    has_events = len(columns.tables["slices"]["start_ns"]) > 0
    sample_count = len(columns.tables["samples"]["value"])
    if has_events and sample_count:
        columns.quality.add("samples_own_clock", sample_count)
    if not (has_events or columns.side or sample_count or data.job):
        reason = "; ".join(columns.quality.examples.get("side_file_unreadable", ()))
        raise _not_a_trace_error(
            source.name, f"none of the files could be read{reason and f' ({reason})'}"
        )
    return columns


def _itself(source: Source) -> Source:
    return source


def _not_a_trace_error(name: str, reason: str) -> TraceFormatError:
    return TraceFormatError(
        "not_a_trace",
        f"{name} has no recording of MindSpore's profiler: {reason}.",
        "Copy the whole folder again; Profiler.analyse() writes these files where it was recorded.",
    )


def _progress_after(read_bytes: int, reading: Reading) -> Callable[[int], None]:
    return lambda count: reading.progress(read_bytes + count)


def _read_files(files: DeviceFiles, data: DeviceData, reading: Reading) -> int:
    """Read every file except the timeline; returns the number of bytes that were read."""
    read_bytes = 0
    for kind, read_file in FILE_READERS:
        file = files.by_kind.get(kind)
        if file is None or PREFERRED_KINDS.get(kind) in files.by_kind:
            continue
        source, quality = file.open(), data.quality
        data.tables.quality = QualityReport()
        read_content = CONTENT_READERS[file.name.rpartition(".")[2]]
        try:
            read_file(data, file.name, read_content(source, data.quality))
        except UnreadableFileError as error:
            quality.add("side_file_unreadable", 1, f"{file.name}: {error}")
        for code, count in data.quality.counts.items():
            quality.add(
                code, count, file.name
            )  # rows may contain private data, so only counts are passed on
        data.tables.quality = quality
        read_bytes += source.taken_bytes
        reading.progress(read_bytes)
    return read_bytes


def _events(
    files: DeviceFiles, data: DeviceData, reading: Reading
) -> tuple[EventColumns, tuple[NotRecorded, ...]]:
    """The events of the timeline (none without a timeline), and what is missing, with reasons."""
    kind = next((kind for kind in TIMELINES if kind in files.by_kind), None)
    if kind is not None:
        file = files.by_kind[kind]
        try:
            columns = read_timeline(
                file.open(), reading, device=files.device, is_gpu=kind == "gpu_timeline"
            )
        except TraceFormatError:
            data.quality.add("side_file_unreadable", 1, f"{file.name}: it has no events")
        else:
            not_recorded = [NotRecorded(capability, NO_HOST) for capability in _FROM_HOST]
            if kind != "gpu_timeline":
                not_recorded += [NotRecorded(capability, NOT_ON_NPU) for capability in _FROM_GPU]
            if not add_steps(columns, data.steps, data.zero_tick):
                not_recorded.append(NotRecorded("steps", NO_STEPS))
            return columns, tuple(not_recorded)
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    not_recorded = [NotRecorded(capability, NO_TIMELINE) for capability in _FROM_EVENTS]
    return EventColumns(FORMAT, tables, [], [], 0, 1), tuple(not_recorded)


def _add_memory_record(columns: EventColumns, data: DeviceData) -> None:
    """Add the totals of the memory pool to the samples, as those of other Ascend recordings."""
    if data.memory_record is None:
        return
    samples = SampleRows(Strings(columns.strings))
    for name in TOTALS:
        known = data.memory_record.drop_nulls(name)
        samples.add(
            f"NPU {data.device}",
            f"MindSpore {name}",
            "bytes",
            known["time_ns"].to_numpy(),
            known[name].to_numpy(),
        )
    samples.append_to(columns)


def _sample_table(samples: Sequence[CpuSample], strings: list[str]) -> ColumnArrays:
    """The sample table; texts are added to ``strings``."""
    codes: dict[str, int] = {}
    for text in (text for each in samples for text in (each.source, each.metric, each.unit)):
        if text not in codes:
            codes[text] = len(strings)
            strings.append(text)
    columns = {
        "source_code": [codes[each.source] for each in samples],
        "metric_code": [codes[each.metric] for each in samples],
        "unit_code": [codes[each.unit] for each in samples],
        "time_ns": [each.time_ns for each in samples],
        "value": [each.value for each in samples],
    }
    return {name: np.array(columns[name], dtype) for name, dtype in SAMPLE_COLUMNS.items()}
