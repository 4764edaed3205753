"""Writes Perfetto traces for tests, packet by packet, and reads them back as rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tests.importers.protobuf.encode import field, message, varint
from torch_tb_profiler.importers.pftrace.reader import read
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import ABSENT, EventColumns

Fields = tuple[int, int | float | str | bytes]


def packet(*fields: Fields, sequence: int = 1) -> bytes:
    return field(1, message(*fields, (10, sequence)))


def event(at: int, kind: int, *fields: Fields, sequence: int = 1, flags: int = 0) -> bytes:
    track_event = message((9, kind), *fields)
    return packet((8, at), (13, flags), (11, track_event), sequence=sequence)


def begin(at: int, name: str, *fields: Fields, track: int = 2, sequence: int = 1) -> bytes:
    return event(at, 1, (11, track), (23, name), *fields, sequence=sequence)


def end(at: int, track: int = 2, sequence: int = 1) -> bytes:
    return event(at, 2, (11, track), sequence=sequence)


def interned(kind: int, texts: dict[int, str]) -> list[Fields]:
    return [(kind, message((1, iid), (2, text))) for iid, text in texts.items()]


def process(uuid: int, pid: int, name: str, *fields: Fields) -> bytes:
    return packet((60, message((1, uuid), (3, message((1, pid), (6, name))), *fields)))


def thread(uuid: int, parent: int, pid: int, tid: int, name: str) -> bytes:
    given = message((1, pid), (2, tid), (5, name))
    return packet((60, message((1, uuid), (5, parent), (4, given))))


TRACKS = process(1, 77, "python") + thread(2, 1, 77, 78, "main") + thread(3, 1, 77, 79, "other")


def clocks(*shown: tuple[int, ...], sequence: int = 1) -> bytes:
    """A snapshot; each clock is (id, timestamp, whether it is incremental, unit)."""
    given = [(1, message(*enumerate(clock, 1))) for clock in shown]
    return packet((6, message(*given)), sequence=sequence)


def annotation(name: str, value: Any) -> Fields:
    """A debug annotation as a field of an event."""
    return 4, message((10, name)) + _value(value)


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return field(2, int(value))
    if isinstance(value, int):
        return field(4, value)
    if isinstance(value, float):
        return field(5, value)
    if isinstance(value, str):
        return field(6, value)
    if isinstance(value, dict):
        entries = [field(11, message((10, key)) + _value(each)) for key, each in value.items()]
        return b"".join(entries)
    return b"".join(field(12, _value(each)) for each in value)


class _ChunkedSource(Source):
    """A file in chunks of a given size; the first one of others is at least the head of a file."""

    def __init__(self, data: bytes, chunk_bytes: int) -> None:
        super().__init__("a file", ())
        self._chunks = (data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))

    def unpacked(self) -> Generator[bytes, None, None]:
        yield from self._chunks


def read_data(data: bytes, piece_bytes: int = 1 << 20, chunk_bytes: int = 0) -> EventColumns:
    """Read a file in pieces, by default in chunks of their size: a chunk is not split."""
    return read(_ChunkedSource(data, chunk_bytes or piece_bytes), Reading(), piece_bytes)


def rows(columns: EventColumns, table: str) -> list[dict[str, Any]]:
    """The rows of a table with texts and tracks in place of codes; None for what is absent."""
    return [
        {column: _shown(columns, column, value[row]) for column, value in table_columns.items()}
        for table_columns in [columns.tables[table]]
        for row in range(next(iter(table_columns.values())).size)
    ]


def _shown(columns: EventColumns, column: str, value: Any) -> Any:
    if column.endswith("_code"):
        return columns.strings[value] if value >= 0 else None
    if column == "track":
        track = columns.tracks[value]
        return track.pid, track.tid
    if isinstance(value, np.floating):
        return None if np.isnan(value) else float(value)
    return None if value == ABSENT else int(value)


def slices(columns: EventColumns) -> list[tuple[str, int, int]]:
    """Name, start and duration of each slice."""
    return [(row["name_code"], row["start_ns"], row["dur_ns"]) for row in rows(columns, "slices")]


__all__ = ["field", "message", "varint"]
