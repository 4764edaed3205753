"""Reads a file of AMD's profilers to event columns, whichever of their formats it has."""

from __future__ import annotations

import os

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.rocprof.assemble import RecordingFile, assemble
from torch_tb_profiler.importers.rocprof.json_reader import read_json
from torch_tb_profiler.importers.rocprof.rocpd import read_rocpd
from torch_tb_profiler.importers.rocprof.rpd import is_rpd, read_rpd, schema_version
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.sqlite.opening import is_database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport

ROCPROFV3, ROCM_PROFILE_DATA = "rocprofv3", "rocmProfileData"
"""Their names in ``knowledge/recorders.toml``."""

EVENTS = (("slices", "start_ns"), ("samples", "time_ns"), ("instants", "time_ns"))
"""Tables and columns that show whether a file has any events."""


def read(source: Source | Folder, reading: Reading) -> EventColumns:
    """Read the trace of a file.

    Raises:
        TraceFormatError: it is not of AMD's profilers, or holds nothing.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    if isinstance(source, Folder):
        raise TraceFormatError(
            "not_a_trace", f"{source.name} is a folder.", "Name the file of results in it."
        )
    if is_database(source.head):
        columns = _read_database(source, reading)
    else:
        texts, quality = TextCodes(), QualityReport()
        recordings = read_json(source, reading, texts, quality)
        columns = assemble(recordings, texts, RecordingFile(ROCPROFV3), quality)
    if not any(len(columns.tables[table][column]) for table, column in EVENTS):
        raise TraceFormatError(
            "no_events",
            f"{source.name} is a recording of AMD's profilers, but has no events.",
            "Record with rocprofv3 --runtime-trace --output-format rocpd json -- PROGRAM.",
        )
    return columns


def _read_database(source: Source, reading: Reading) -> EventColumns:
    path = source.local_path(reading.progress)
    texts, quality = TextCodes(), QualityReport()
    with Database.open(path, source.name, reading) as database:
        if is_rpd(database):
            recordings = [read_rpd(database, texts)]
            file = RecordingFile(ROCM_PROFILE_DATA, schema_version(database))
        else:
            recordings = read_rocpd(database, texts, quality)
            file = RecordingFile(ROCPROFV3)
        quality.merge(database.quality)
    reading.progress(os.stat(path).st_size)
    return assemble(recordings, texts, file, quality)
