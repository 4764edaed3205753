"""Reads the files of one device: a timeline where there is one, and everything else as side tables.

Nothing makes a timeline up where there is none: the trace has no events then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.mindspore.collected import Collected
from torch_tb_profiler.importers.mindspore.cpu import Sample
from torch_tb_profiler.importers.mindspore.files import DeviceFiles, Kind, files_of_device
from torch_tb_profiler.importers.mindspore.takers import INSTEAD, TAKERS, Taken
from torch_tb_profiler.importers.mindspore.texts import UnreadableError, json_of, text_of
from torch_tb_profiler.importers.mindspore.timeline import add_steps, read_timeline
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Folder
from torch_tb_profiler.trace.columns import (
    SAMPLE_COLUMNS,
    TABLE_COLUMNS,
    ColumnArrays,
    EventColumns,
    empty_table,
)
from torch_tb_profiler.trace.info import Capability, NotRecorded, TraceInfo
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "mindspore"
RECORDER = "mindspore.Profiler"

TIMELINES: tuple[Kind, ...] = ("ascend_timeline", "timeline", "gpu_timeline")

NO_TIMELINE = "the files of the recording hold no timeline (ascend_timeline_display_*.json)"
NO_HOST = "MindSpore's timeline tells what ran on the device, not what the host did"
NOT_OF_NPU = "an NPU has no such measure"
NO_MEMORY = "of MindSpore's files memory_usage_*.pb alone tells of memory, and it is not read"
NO_STEPS = "nothing ties MindSpore's step trace to the clock of its timeline"

_OF_EVENTS: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "kernels", "copies", "launches", "communication", "steps", "ranges", "counters",
)  # fmt: skip
_OF_HOST: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "launches",
)  # fmt: skip
_OF_GPU: tuple[Capability, ...] = ("occupancy", "blocks_per_sm", "shared_memory", "registers")


def read(source: AnySource, reading: Reading) -> EventColumns:
    """The trace of one device.

    Raises:
        TraceFormatError: none of the files could be read, or none is MindSpore's.
        StorageError, OSError: a file cannot be read.
        UnpackLimitError: one unpacks too far.
    """
    assert isinstance(source, Folder), "files of a device are read as a folder"
    files = files_of_device(source.files)
    if files is None:
        raise _nothing(source.name, "none of its files is one of that profiler")
    taken = Taken(Collected(QualityReport()))
    taken_bytes = _take_files(files, taken, reading)
    how = replace(reading, progress=_after(taken_bytes, reading))
    columns, lacks = _events(files, taken, how)
    if "memory_usage" in files.members:
        taken.quality.add("memory_usage_unread")
    for name in files.left_out:
        taken.quality.add("other_device_files", 1, name)
    columns.quality.merge(taken.quality)
    columns.format = FORMAT
    columns.side = taken.tables.side_tables()
    columns.tables["samples"] = _sample_table(taken.samples, columns.strings)
    columns.info = TraceInfo(
        framework="MindSpore",
        recorder=RECORDER,
        job=taken.job,
        not_recorded=(*lacks, NotRecorded("memory", NO_MEMORY)),
    )
    has_events = len(columns.tables["slices"]["start_ns"]) > 0
    if has_events and taken.samples:
        columns.quality.add("samples_own_clock", len(taken.samples))
    if not (has_events or columns.side or taken.samples or taken.job):
        raise _nothing(source.name, "none of the files could be read")
    return columns


def _nothing(name: str, why: str) -> TraceFormatError:
    return TraceFormatError(
        "not_a_trace",
        f"{name} holds no recording of MindSpore's profiler: {why}.",
        "Copy the whole folder again; Profiler.analyse() writes these files where it was recorded.",
    )


def _after(taken_bytes: int, reading: Reading) -> Callable[[int], None]:
    return lambda count: reading.progress(taken_bytes + count)


def _take_files(files: DeviceFiles, taken: Taken, reading: Reading) -> int:
    """Read every file that is no timeline; return how many bytes that were."""
    taken_bytes = 0
    for kind, take in TAKERS:
        member = files.members.get(kind)
        if member is None or INSTEAD.get(kind) in files.members:
            continue
        source, quality = member.open(), taken.quality
        taken.tables.quality = QualityReport()
        read_content = json_of if member.name.endswith(".json") else text_of
        try:
            take(taken, member.name, read_content(source, taken.quality))
        except UnreadableError as error:
            quality.add("side_file_unreadable", 1, f"{member.name}: {error}")
        for code, count in taken.quality.counts.items():
            quality.add(code, count, member.name)  # rows may hold what nobody shall see
        taken.tables.quality = quality
        taken_bytes += source.taken_bytes
        reading.progress(taken_bytes)
    return taken_bytes


def _events(
    files: DeviceFiles, taken: Taken, reading: Reading
) -> tuple[EventColumns, tuple[NotRecorded, ...]]:
    """The events of the timeline, none without one; and what is missing, and why."""
    kind = next((kind for kind in TIMELINES if kind in files.members), None)
    if kind is not None:
        member = files.members[kind]
        try:
            columns = read_timeline(
                member.open(), reading, device=files.device, is_gpu=kind == "gpu_timeline"
            )
        except TraceFormatError:
            taken.quality.add("side_file_unreadable", 1, f"{member.name}: it holds no events")
        else:
            lacks = [NotRecorded(what, NO_HOST) for what in _OF_HOST]
            if kind != "gpu_timeline":
                lacks += [NotRecorded(what, NOT_OF_NPU) for what in _OF_GPU]
            if not add_steps(columns, taken.steps, taken.zero_tick):
                lacks.append(NotRecorded("steps", NO_STEPS))
            return columns, tuple(lacks)
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    lacks = [NotRecorded(what, NO_TIMELINE) for what in _OF_EVENTS]
    return EventColumns(FORMAT, tables, [], [], 0, 1), tuple(lacks)


def _sample_table(samples: Sequence[Sample], strings: list[str]) -> ColumnArrays:
    """Samples as columns; their texts are added to ``strings``."""
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
