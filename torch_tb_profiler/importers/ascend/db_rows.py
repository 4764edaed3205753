"""Rows of a database → parts of the slice table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Int8,
    Int32,
    Int64,
    Track,
)
from torch_tb_profiler.trace.lookup import positions_in

STRING_IDS = "STRING_IDS"


class DatabaseTexts:
    """The texts of a database by id. Only texts that are used are added to the trace."""

    def __init__(self, database: Database, strings: Strings) -> None:
        ids = database.ints(STRING_IDS, ("id",))["id"]
        values = database.series(STRING_IDS, "value")
        self._known, self._first = np.unique(ids, return_index=True)
        self._values = values
        self.strings = strings

    def codes(self, ids: Int64) -> Int32:
        """The string codes of ids; -1 for ids without a text."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        codes = self.strings.codes(self.texts(distinct))
        return codes[inverse] if len(codes) else np.empty(0, np.int32)

    def prefixed(self, ids: Int64, kinds: Int64, prefixes: Mapping[int, str]) -> Int32:
        """The same, with a prefix per kind put before the text."""
        codes = self.codes(ids)
        for kind, prefix in prefixes.items():
            has_kind = kinds == kind
            codes[has_kind] = self.strings.rewritten(
                codes[has_kind], partial("{}{}".format, prefix)
            )
        return codes

    def texts(self, ids: Int64) -> list[str | None]:
        """The texts of distinct ids; None for ids without a text."""
        positions = positions_in(self._known, ids).tolist()
        rows = [None if position < 0 else int(self._first[position]) for position in positions]
        texts: list[str | None] = self._values.gather(pl.Series(rows, dtype=pl.Int64)).to_list()
        return texts


class SliceRows(Struct):
    """Slices of one table. Arrays are aligned; ``ABSENT`` and -1 mean no value.

    Attributes:
        category: A :class:`~torch_tb_profiler.trace.categories.Category`.
        name_code: Code of the name.
        track: Number of the track.
        start_ns: Start since the epoch.
        end_ns: End since the epoch.
        connection: Id that a task shares with the call that launched it.
        raw_category_code: Code of the file's own word for the category.
    """

    category: Int8
    name_code: Int32
    track: Int32
    start_ns: Int64
    end_ns: Int64
    connection: Int64
    raw_category_code: Int32

    def __len__(self) -> int:
        return len(self.start_ns)


class TrackNumbers(Struct):
    """Numbers tracks in the order in which they are first used."""

    tracks: list[Track] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def number(self, track: Track) -> int:
        """The number of a track; tracks of the same process and thread share it."""
        key = (track.pid, track.tid)
        if key not in self._numbers:
            self._numbers[key] = len(self.tracks)
            self.tracks.append(track)
        return self._numbers[key]


def build_slices(parts: Sequence[SliceRows], base_ns: int) -> ColumnArrays:
    """The slice table of all parts, in order."""
    start = np.concatenate([part.start_ns for part in parts])
    end = np.concatenate([part.end_ns for part in parts])
    absent = np.full(len(start), ABSENT, np.int64)
    return {
        "category": np.concatenate([part.category for part in parts]),
        "raw_category_code": np.concatenate([part.raw_category_code for part in parts]),
        "name_code": np.concatenate([part.name_code for part in parts]),
        "track": np.concatenate([part.track for part in parts]),
        "start_ns": start - base_ns,
        "dur_ns": np.maximum(end - start, 0),
        "correlation": absent,
        "external_id": absent.copy(),
    }
