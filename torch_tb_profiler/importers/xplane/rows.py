"""Collects the tables of a profile, with one dictionary of texts and one list of tracks."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, Interner
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    Int32,
    Int64,
    Track,
    absent_table,
    empty_table,
)

NO_TEXT = -1


class TraceRows(Struct):
    """The rows so far.

    Attributes:
        strings: Text → code.
        tracks: The tracks.
        slice_count: Number of slices so far.
        cut_count: How many texts were cut because they are too long.
    """

    strings: Interner = field(default_factory=Interner)
    tracks: list[Track] = field(default_factory=list)
    slice_count: int = 0
    cut_count: int = 0
    _parts: dict[str, list[ColumnArrays]] = field(default_factory=dict)

    def codes(self, texts: list[str]) -> Int32:
        """The codes of texts; one more element, of no text, is for the code -1."""
        return np.array([*map(self.code, texts), NO_TEXT], np.int32)

    def code(self, text: str) -> int:
        """The code of a text that the file states."""
        if len(text) > MAX_TEXT_CHARS:
            self.cut_count += 1
            text = text[:MAX_TEXT_CHARS]
        return self.strings[text]

    def add_track(self, track: Track) -> int:
        """Add a track; returns its index."""
        self.tracks.append(track)
        return len(self.tracks) - 1

    def add_slices(self, given: ColumnArrays) -> Int64:
        """Add slices with some of the columns; returns their rows."""
        count = len(given["start_ns"])
        self._parts.setdefault("slices", []).append(absent_table("slices", count) | given)
        rows = self.slice_count + np.arange(count)
        self.slice_count += count
        return rows

    def add(self, name: str, given: ColumnArrays) -> None:
        """Add rows with some of the columns to a table of details."""
        count = len(given["slice"])
        if count:
            self._parts.setdefault(name, []).append(absent_table(name, count) | given)

    def tables(self) -> dict[str, ColumnArrays]:
        """All tables."""
        tables = {name: empty_table(name) for name in TABLE_COLUMNS}
        for name, parts in self._parts.items():
            tables[name] = {
                column: np.concatenate([part[column] for part in parts]).astype(dtype, copy=False)
                for column, dtype in TABLE_COLUMNS[name].items()
            }
        return tables


def gather_int(values: Int64, rows: Int64) -> Int64:
    """``values`` at rows, ABSENT at -1."""
    column: Int64 = np.append(values, ABSENT)[rows]
    return column
