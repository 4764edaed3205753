"""Reads the JSON of rocprofv3: one recording per process of the file.

The file is read from its beginning, record by record in batches: it is never in memory as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import NamedTuple

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.rocprof.json_cursor import END, Batch, JsonCursor
from torch_tb_profiler.importers.rocprof.json_process import JsonProcess
from torch_tb_profiler.importers.rocprof.recording import ProcessRecording
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.quality import QualityReport

ROOT = "rocprofiler-sdk-tool"
"""The key of the list of processes."""

RECORDS = ("callback_records", "buffer_records")
"""Objects with a list of records per kind."""

_OBJECT, _ARRAY, _ARRAY_END, _QUOTE = b'{[]"'

_KNOWN_KEY = re.compile(
    rb'"(?:metadata|agents|counters|strings|code_objects|kernel_symbols|host_functions|summary'
    rb"|callback_records|buffer_records|counter_collection|kernel_dispatch|memory_copy"
    rb'|memory_allocation|scratch_memory|pc_sample_\w+|\w+_api)"\s*:\s*[\[{]'
)
"""Where reading goes on behind damage between lists."""


class _Value(NamedTuple):
    """A value of a process.

    Attributes:
        process: Number of the process in the file.
        key: Its key.
        text: The JSON text, if it is not a list.
        batch: Some objects of a list; None if it is not one.
    """

    process: int
    key: str
    text: bytes
    batch: Batch | None


def read_json(
    source: Source, reading: Reading, texts: TextCodes, quality: QualityReport
) -> list[ProcessRecording]:
    """Read all processes of a file.

    Args:
        source: The file.
        reading: How it is read.
        texts: Receives the texts.
        quality: Counts damage and records that are not read.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    processes: dict[int, JsonProcess] = {}
    records = 0
    with closing(source.unpacked()) as unpacked:
        cursor = JsonCursor(utf8(unpacked, quality), quality)
        for value in _values(cursor, quality):
            process = processes.get(value.process)
            if process is None and value.process >= UNLIMITED.count("processes"):
                quality.add("entries_left_out", 1, UNLIMITED.described("processes"))
                break
            if process is None:
                process = processes[value.process] = JsonProcess(texts, quality)
            if value.batch is not None:
                records += process.add_records(value.key, value.batch)
            else:
                process.add_value(value.key, value.text)
            reading.progress(source.taken_bytes)
            if reading.is_full(records):
                break
    return [process.recording() for process in processes.values()]


def _values(cursor: JsonCursor, quality: QualityReport) -> Iterator[_Value]:
    """The values of all processes, in order; another process begins where a key is repeated."""
    process, seen = 0, set[str]()
    is_inside = is_closed = False
    while (byte := cursor.peek()) != END:
        if byte != _QUOTE:
            is_closed |= is_inside and byte == _ARRAY_END
            cursor.skip()
            continue
        key = cursor.key()
        if key == ROOT:
            is_inside = True
        elif key in RECORDS and cursor.peek() == _OBJECT:
            cursor.skip()
        elif key is not None and is_inside:
            if key in seen:
                process, seen = process + 1, set()
            seen.add(key)
            if not (yield from _value(cursor, process, key)):
                key = None
        elif key is not None and not cursor.value():
            key = None
        if key is None:
            quality.add("event_dropped")
            cursor.skip()
            if cursor.find(_KNOWN_KEY) is None:
                break
            is_inside = True
    if not is_closed and "truncated" not in quality.counts:
        quality.add("truncated")


def _value(cursor: JsonCursor, process: int, key: str) -> Generator[_Value, None, bool]:
    """The value at the cursor, in batches if it is a list; returns whether it is not damaged."""
    if cursor.peek() == _ARRAY:
        for batch in cursor.objects():
            yield _Value(process, key, b"", batch)
        return True
    text = cursor.value()
    if text:
        yield _Value(process, key, text, None)
    return bool(text)
