"""Reads a folder of one rank, or a single timeline."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch_tb_profiler.importers.ascend import is_database, members
from torch_tb_profiler.importers.ascend.database import read_database
from torch_tb_profiler.importers.ascend.job import with_job
from torch_tb_profiler.importers.ascend.side_files import SideFiles
from torch_tb_profiler.importers.ascend.text_folder import read_text_folder
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Folder, Source
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

ANALYSE = "Run {0}.profiler.profiler.analyse('{1}') where {0} is installed."


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a trace: of a folder the database, else the text files.

    Raises:
        TraceFormatError: it holds neither.
        StorageError, OSError: it cannot be read.
    """
    if not isinstance(source, Folder):
        if not is_database(source.head, source.name):
            return reader.read(source, reading)
        source = Folder(source.name, {members.base_of(source.name): partial(_itself, source)})
    files = SideFiles(source, QualityReport())
    columns, groups = _events(source, files, reading)
    database = members.database_of(source.files)
    info = members.named(source.files, members.INFO)
    columns.info = with_job(
        columns.info,
        files.document(members.INFO),
        files.document(members.METADATA, is_usual=False) or groups,
        _rank(database) if info is None else _rank(info),
    )
    columns.format = "ascend"
    columns.quality.merge(files.quality)
    return columns


def _events(source: Folder, files: SideFiles, reading: Reading) -> tuple[EventColumns, Any]:
    """The events, and what the database says of the groups; of a database that nothing can be read
    of those of the text files beside it."""
    database, timeline = members.database_of(source.files), members.timeline_of(source.files)
    if database is not None:
        try:
            found = read_database(source, database, reading)
        except TraceFormatError as error:
            if timeline is None:
                raise
            files.quality.add("ascend_file_unreadable", 1, error.message)
        else:
            files.quality.add("ascend_both", int(timeline is not None))
            return found
    if timeline is None:
        raise _nothing_to_read(source)
    return read_text_folder(source, timeline, files, reading), None


def _itself(source: Source) -> Source:
    return source


def _rank(path: str | None) -> int | None:
    base = members.base_of(path or "")
    match = members.INFO.fullmatch(base) or members.DATABASE.fullmatch(base)
    return int(match["rank"]) if match is not None and match["rank"] else None


def _nothing_to_read(source: Folder) -> TraceFormatError:
    if members.is_raw_only(source.files):
        package = "mindspore" if source.name.rstrip("/\\").endswith("_ms") else "torch_npu"
        return TraceFormatError(
            "not_analysed",
            f"{source.name} holds what was recorded (FRAMEWORK, PROF_…), which is not analysed.",
            ANALYSE.format(package, source.name),
        )
    return TraceFormatError(
        "no_events",
        f"{source.name} holds neither trace_view.json nor a database of the profiler.",
        f"Copy it again with its folder {members.OUTPUT}, or analyse the recording anew.",
    )
