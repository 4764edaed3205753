"""Every format there is, and the way from any file to event columns: the content tells the format.

A new format is a package beside this module that declares an
:class:`~torch_tb_profiler.importers.protocol.Importer`, and its name here.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Literal

from torch_tb_profiler.importers import (
    ascend,
    kineto,
    mindspore,
    nsys,
    paddle,
    pftrace,
    recorder,
    snapshot,
)
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Importer, Reading
from torch_tb_profiler.importers.source import AnySource, Folder, Source
from torch_tb_profiler.importers.unrecognized import unrecognized_file
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern, TraceNames
from torch_tb_profiler.trace.columns import EventColumns

FORMATS: tuple[Importer, ...] = (
    recorder.FORMAT,
    paddle.FORMAT,
    ascend.FORMAT,
    kineto.FORMAT,
    mindspore.FORMAT,
    nsys.FORMAT,
    nsys.REPORT_FORMAT,
    pftrace.FORMAT,
    snapshot.FORMAT,
)
"""The formats, in the order in which they are asked about a file."""


def trace_names() -> TraceNames:
    """The names by which traces are found."""
    return TraceNames(
        files=_named("files"),
        folders=_named("folders"),
        endings=tuple(ending for each in FORMATS for ending in each.endings),
        members=_named("members"),
        replaces=tuple(pair for each in FORMATS for pair in each.replaces),
    )


def _named(kind: Literal["files", "folders", "members"]) -> tuple[NamePattern, ...]:
    """The patterns of all formats, each with the name of its own."""
    return tuple(
        replace(pattern, format=each.name) for each in FORMATS for pattern in getattr(each, kind)
    )


def label_of(name: str) -> str:
    """A format as pages call it; of one that is not known its own name."""
    return next((each.label for each in FORMATS if each.name == name), name)


def detect_format(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """What a file is, by its head (:data:`torch_tb_profiler.storage.format_detection.TellHead`)."""
    for importer in FORMATS:
        if base_name.endswith(importer.endings) and importer.sniff(head, base_name):
            told = (
                importer.detect(head, base_name, is_whole)
                if importer.detect
                else FormatDetection(True)
            )
            return replace(told, format=importer.name) if told.is_trace else told
    problem = unrecognized_file(head, base_name, [importer.title for importer in FORMATS])
    return FormatDetection(False, problem.code, f"{problem.message.removeprefix(f'{base_name} ')}")


def import_source(source: AnySource, reading: Reading | None = None) -> EventColumns:
    """Read one trace.

    Args:
        source: The file or folder.
        reading: How it is read.

    Raises:
        TraceFormatError: it is no trace we read; its ``code`` says why.
        StorageError, OSError: it cannot be read.
    """
    how = reading or Reading()
    try:
        with closing(source):
            columns = importer_of(source).read(source, how)
    except UnpackLimitError as error:
        message = f"{source.name} {error.reason}"
        raise TraceFormatError("unpacks_too_far", message, error.hint) from None
    except TraceFormatError as error:
        if error.code == "empty_file" and source.quality.counts:
            raise _unreadable(source.name) from None
        raise
    columns.quality.merge(source.quality)
    return columns


def import_trace(
    chunks: Iterable[bytes], *, name: str, reading: Reading | None = None
) -> EventColumns:
    """Read one trace from its bytes as they are stored, in pieces of any size; as
    :func:`import_source`."""
    return import_source(Source(name, chunks), reading)


def importer_of(source: AnySource) -> Importer:
    """The format of a file, by its first bytes; of a folder, by its name.

    Raises:
        TraceFormatError: it is of none.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    if isinstance(source, Folder):
        base_name = source.name.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        for importer in FORMATS:
            if any(pattern.parse(base_name) for pattern in importer.folders):
                return importer
        for importer in FORMATS:
            if any(pattern.parse(name) for pattern in importer.members for name in source.files):
                return importer
        raise TraceFormatError(
            "not_a_trace",
            f"{source.name} is a folder, and no trace by its name.",
            "Name a trace file, or the folder above.",
        )
    for importer in FORMATS:
        if importer.sniff(source.head, source.name):
            return importer
    raise unrecognized_file(source.head, source.name, [importer.title for importer in FORMATS])


def _unreadable(name: str) -> TraceFormatError:
    return TraceFormatError(
        "gzip_unreadable",
        f"{name} is a gzip file that is damaged from its start.",
        "Copy or download it again and compare its size with the original.",
    )
