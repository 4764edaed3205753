"""Reads the folder of one rank, or a single timeline or database."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from torch_tb_profiler.importers.ascend import file_names, is_database
from torch_tb_profiler.importers.ascend.database import read_database
from torch_tb_profiler.importers.ascend.job import with_job
from torch_tb_profiler.importers.ascend.side_files import SideFiles
from torch_tb_profiler.importers.ascend.text_folder import read_text_folder
from torch_tb_profiler.importers.ascend.timeline import FRAMEWORKS, MINDSPORE, TORCH_NPU
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
from torch_tb_profiler.importers.kineto import find_event, reader
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Folder, Source
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

ANALYSE = "Run {0}.profiler.profiler.analyse('{1}') where {0} is installed."


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a trace; from a folder the database if there is one, else the text files.

    Raises:
        TraceFormatError: it has neither.
        StorageError, OSError: it cannot be read.
    """
    if not isinstance(source, Folder):
        if not is_database(source.head, source.name):
            return reader.read(source, reading)
        source = Folder(
            source.name, {file_names.base_name(source.name): partial(_identity, source)}
        )
    files = SideFiles(source, QualityReport())
    columns, groups = _events(source, files, reading)
    database = file_names.find_database(source.files)
    info = file_names.find_file(source.files, file_names.INFO)
    columns.info = with_job(
        columns.info,
        files.document(file_names.INFO),
        files.document(file_names.METADATA, is_usual=False) or groups,
        _rank(database) if info is None else _rank(info),
    )
    columns.format = "ascend"
    columns.quality.merge(files.quality)
    return columns


def find(source: AnySource, query: EventQuery, limits: SearchLimits) -> EventArguments | None:
    """Read the arguments of one event. None if the trace was read from a database: then the trace
    has all its columns.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    if not isinstance(source, Folder):
        if is_database(source.head, source.name):
            return None
        return find_event.find(source, query, limits)
    timeline = (
        None if file_names.find_database(source.files) else file_names.find_timeline(source.files)
    )
    return None if timeline is None else find_event.find(source.files[timeline](), query, limits)


def _events(source: Folder, files: SideFiles, reading: Reading) -> tuple[EventColumns, Any]:
    """The events, and the database's description of the groups. If the database cannot be read, the
    events come from the text files."""
    database, timeline = (
        file_names.find_database(source.files),
        file_names.find_timeline(source.files),
    )
    if database is not None:
        try:
            result = read_database(source, database, reading)
        except TraceFormatError as error:
            if timeline is None and file_names.find_file(source.files, file_names.TABLES) is None:
                raise
            files.quality.add("ascend_file_unreadable", 1, error.message)
        else:
            files.quality.add("ascend_both", int(timeline is not None))
            return result
    columns = read_text_folder(source, timeline, files, reading)
    if columns.info.recorder is None:
        if not _has_data(columns):
            raise _no_events_error(source, files.quality)
        recorder = MINDSPORE if _is_mindspore(source.name) else TORCH_NPU
        columns.info = replace(columns.info, framework=FRAMEWORKS[recorder], recorder=recorder)
    return columns, None


def _has_data(columns: EventColumns) -> bool:
    return any(table.frame.height for table in columns.side) or any(
        len(columns.tables[name][key])
        for name, key in (("slices", "start_ns"), ("memory", "time_ns"), ("samples", "time_ns"))
    )


def _is_mindspore(name: str) -> bool:
    return name.rstrip("/\\").endswith("_ms")


def _identity(source: Source) -> Source:
    return source


def _rank(path: str | None) -> int | None:
    base = file_names.base_name(path or "")
    match = file_names.INFO.fullmatch(base) or file_names.DATABASE.fullmatch(base)
    return int(match["rank"]) if match is not None and match["rank"] else None


def _no_events_error(source: Folder, quality: QualityReport) -> TraceFormatError:
    if file_names.is_raw_only(source.files):
        package = "mindspore" if _is_mindspore(source.name) else "torch_npu"
        return TraceFormatError(
            "not_analysed",
            f"{source.name} holds raw data only (FRAMEWORK, PROF_…); it was not analysed yet.",
            ANALYSE.format(package, source.name),
        )
    unread = "; ".join(quality.examples.get("ascend_file_unreadable", ()))
    return TraceFormatError(
        "no_events",
        f"{source.name} has neither a trace_view.json nor a profiler database, and no "
        f"{f'readable tables ({unread})' if unread else 'tables'}.",
        f"Copy it again with its folder {file_names.OUTPUT}, or analyse the recording again.",
    )
