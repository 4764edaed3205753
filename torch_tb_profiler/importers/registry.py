"""All formats, and the import of any file: its content decides the format.

A new format is a package in :mod:`torch_tb_profiler.importers` that declares an
:class:`~torch_tb_profiler.importers.protocol.Importer`, and is listed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Literal

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers import (
    ascend,
    execution,
    flight_recorder,
    kineto,
    mindspore,
    nsys,
    paddle,
    pftrace,
    proton,
    recorder,
    report,
    rocprof,
    snapshot,
    xplane,
)
from torch_tb_profiler.importers.errors import RAISE_LIMIT_HINT, TraceFormatError
from torch_tb_profiler.importers.limiting import keep_within_budget
from torch_tb_profiler.importers.protocol import Importer, Reading
from torch_tb_profiler.importers.slice_arguments import drop_repeated_arguments
from torch_tb_profiler.importers.source import STOPPED, AnySource, Folder, Source
from torch_tb_profiler.importers.unrecognized import unrecognized_file
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern, TraceNames
from torch_tb_profiler.trace.columns import EventColumns

FORMATS: tuple[Importer, ...] = (
    recorder.FORMAT,
    report.FORMAT,
    xplane.FORMAT,
    proton.TREE_FORMAT,
    proton.CHROME_FORMAT,
    paddle.FORMAT,
    ascend.FORMAT,
    mindspore.FORMAT,
    rocprof.FORMAT,
    rocprof.CHROME_FORMAT,
    execution.FORMAT,
    flight_recorder.FORMAT,
    kineto.FORMAT,
    nsys.FORMAT,
    nsys.REPORT_FORMAT,
    pftrace.FORMAT,
    snapshot.FORMAT,
)
"""The formats, in the order in which they are tried on a file."""

_ENDS_EARLY = ("truncated", "database_truncated", "gzip_truncated")
"""Quality notes of a file that ends in the middle: not those of a file that is not read on."""


def trace_names() -> TraceNames:
    """The name patterns of all formats, for discovery."""
    return TraceNames(
        files=_patterns("files"),
        folders=_patterns("folders"),
        endings=tuple(ending for each in FORMATS for ending in each.endings),
        unended=tuple(each.unended for each in FORMATS if each.unended is not None),
        members=_patterns("members"),
        replaces=tuple(pair for each in FORMATS for pair in each.replaces),
        accompanying=tuple(
            (each.name, each.accompanying) for each in FORMATS if each.accompanying is not None
        ),
        accompanying_runs=tuple(each.name for each in FORMATS if each.accompanies_runs),
    )


def _patterns(kind: Literal["files", "folders", "members"]) -> tuple[NamePattern, ...]:
    """One kind of pattern of all formats, each tagged with the name of its format."""
    return tuple(
        replace(pattern, format=each.name) for each in FORMATS for pattern in getattr(each, kind)
    )


def label_of(name: str) -> str:
    """The label of a format; its name if it is not known."""
    return next((each.label for each in FORMATS if each.name == name), name)


def detect_format(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """Classify a file by its head.

    Args:
        head: The first bytes, unpacked.
        base_name: The name of the file.
        is_whole: Whether ``head`` is the whole file.
    """
    for importer in FORMATS:
        if importer.may_be_named(base_name) and importer.sniff(head, base_name):
            detection = (
                importer.detect(head, base_name, is_whole)
                if importer.detect
                else FormatDetection(True)
            )
            return replace(detection, format=importer.name) if detection.is_trace else detection
    problem = unrecognized_file(head, base_name, [importer.title for importer in FORMATS])
    return FormatDetection(False, problem.code, f"{problem.message.removeprefix(f'{base_name} ')}")


def import_source(source: AnySource, reading: Reading | None = None) -> EventColumns:
    """Read one trace.

    Args:
        source: The file or folder.
        reading: How it is read.

    Raises:
        TraceFormatError: it is not a readable trace; ``code`` is the reason.
        StorageError, OSError: it cannot be read.
    """
    reading = replace(
        reading or Reading(), is_over_time=source.is_over_time, is_full=source.is_full
    )
    try:
        with closing(source):
            importer = importer_of(source)
            columns = importer.read(source, reading)
            columns.budget = source.budget
    except UnpackLimitError as error:
        message = f"{source.name} {error.reason}"
        raise TraceFormatError("unpacks_too_far", message, error.hint) from None
    except TraceFormatError as error:
        if STOPPED in source.quality.counts:
            raise _too_slow(source) from error
        if error.code == "empty_file" and source.quality.counts:
            raise _unreadable(source.name) from None
        raise
    columns.quality.merge(source.quality)
    if STOPPED in source.quality.counts:
        if columns.is_empty:
            raise _too_slow(source)
        for code in _ENDS_EARLY:
            columns.quality.counts.pop(code, None)
    if reading.options.arguments:
        drop_repeated_arguments(columns)
        _note_absent(columns, importer, reading.options.arguments)
    keep_within_budget(columns)
    return columns


def _note_absent(columns: EventColumns, importer: Importer, names: Iterable[str]) -> None:
    """Count the requested arguments that no slice has."""
    present = {columns.strings[code] for code in np.unique(columns.tables["arguments"]["key_code"])}
    for name in names:
        if name not in present:
            code = "argument_absent" if importer.argument_lister else "argument_not_read"
            columns.quality.add(code, 1, name)


def import_trace(
    chunks: Iterable[bytes], *, name: str, reading: Reading | None = None
) -> EventColumns:
    """Read one trace from its stored bytes, in chunks of any size; see :func:`import_source`."""
    return import_source(Source(name, chunks), reading)


def importer_of(source: AnySource) -> Importer:
    """The format of a file, by its first bytes, or of a folder, by its name.

    Raises:
        TraceFormatError: no format matches.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
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
            f"{source.name} is a folder, and its name is not that of a trace.",
            "Name a trace file, or the parent folder.",
        )
    for importer in FORMATS:
        if importer.sniff(source.head, source.name):
            return importer
    raise unrecognized_file(source.head, source.name, [importer.title for importer in FORMATS])


def _too_slow(source: AnySource) -> TraceFormatError:
    limit = source.quality.examples[STOPPED][0]
    return TraceFormatError(
        STOPPED,
        f"{source.name} holds more than any recording of its size, or takes longer to read, and no "
        f"slice is among what was read ({limit}).",
        RAISE_LIMIT_HINT,
    )


def _unreadable(name: str) -> TraceFormatError:
    return TraceFormatError(
        "gzip_unreadable",
        f"{name} is a gzip file that is damaged from its start.",
        "Copy or download it again and compare its size with the original.",
    )
