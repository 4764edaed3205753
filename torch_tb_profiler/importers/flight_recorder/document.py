"""The content of a dump as plain values: a pickle or JSON, whole or cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import msgspec
from msgspec import Struct

from torch_tb_profiler.importers.errors import RAISE_LIMIT_HINT, TraceFormatError
from torch_tb_profiler.importers.plain_pickle.machine import PickleMachine
from torch_tb_profiler.importers.plain_pickle.opcodes import PROTO
from torch_tb_profiler.importers.plain_pickle.reading import read_pickle
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.quality import QualityReport

HINT = (
    "torch writes dumps where TORCH_FR_BUFFER_SIZE is above 0 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 is "
    "set, a file per rank, named by TORCH_FR_DUMP_TEMP_FILE."
)
_ENTRIES = re.compile(r'"entries"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


class DumpDocument(Struct, frozen=True):
    """The values of a dump.

    Attributes:
        values: Key → value, as in the file.
        is_cut: Whether the file ends in the middle.
    """

    values: dict[str, Any]
    is_cut: bool


def read_document(
    source: Source, progress: Callable[[], None], quality: QualityReport
) -> DumpDocument:
    """The values of a dump.

    Raises:
        TraceFormatError: it is damaged, no dump, or a pickle that would run something.
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    is_pickle = source.head[:1] == bytes((PROTO,))
    with closing(source.unpacked()) as chunks:
        value, is_cut = (
            _pickle_value(chunks, source, progress)
            if is_pickle
            else _json_value(b"".join(utf8(_limited(chunks, source), quality)))
        )
    if isinstance(value, list):  # the first releases of torch wrote the bare list of entries
        value = {"entries": value}
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), list):
        raise TraceFormatError(
            "not_a_dump", f"{source.name} is no dump of the flight recorder.", HINT
        )
    return DumpDocument(value, is_cut)


def _limited(chunks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """The chunks of a document that is read whole.

    Raises:
        TraceFormatError: it is larger than the budget allows.
    """
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > source.budget.count("document_bytes"):
            message = f"{source.name} is too large ({source.budget.described('document_bytes')})."
            raise TraceFormatError("too_large", message, RAISE_LIMIT_HINT)
        yield chunk


def _pickle_value(
    chunks: Iterator[bytes], source: Source, progress: Callable[[], None]
) -> tuple[Any, bool]:
    machine = PickleMachine(StreamWindow(chunks), progress, lambda: source.budget)
    return read_pickle(machine, source, "A dump of the flight recorder")


def _json_value(data: bytes) -> tuple[Any, bool]:
    try:
        return msgspec.json.decode(data), False
    except (msgspec.DecodeError, RecursionError):
        return _whole_entries(data.decode("utf-8", "replace")), True


def _whole_entries(text: str) -> dict[str, Any]:
    """The entries of a damaged document up to the damage, and the groups where they are whole."""
    decoder, entries = json.JSONDecoder(), []
    match = _ENTRIES.search(text)
    at = len(text) if match is None else match.end()
    while at < len(text):
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        entries.append(entry)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    values: dict[str, Any] = {"entries": entries}
    for key in ("pg_config", "pg_status", "version", "comm_lib_version"):
        match = re.search(rf'"{key}"\s*:\s*', text)
        if match is not None:
            try:
                values[key], _ = decoder.raw_decode(text, match.end())
            except (ValueError, RecursionError):
                continue
    return values
