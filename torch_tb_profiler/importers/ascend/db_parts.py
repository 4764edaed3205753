"""Rows of a database → parts of the slice table, with what each says beside its times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl

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
from torch_tb_profiler.trace.lookup import place_in

STRING_IDS = "STRING_IDS"


class Texts:
    """The texts of a database by their ids. Only those that are asked for reach the trace."""

    def __init__(self, database: Database, strings: Strings) -> None:
        ids = database.ints(STRING_IDS, ("id",))["id"]
        values = database.series(STRING_IDS, "value")
        order = np.unique(ids, return_index=True)
        self._known, self._first = order
        self._values = values
        self.strings = strings

    def codes(self, ids: Int64) -> Int32:
        """The codes of texts; -1 for ids without one."""
        distinct, place = np.unique(ids, return_inverse=True)
        codes = self.strings.codes(self.texts(distinct))
        return codes[place] if len(codes) else np.empty(0, np.int32)

    def prefixed(self, ids: Int64, kinds: Int64, prefixes: Mapping[int, str]) -> Int32:
        """The same, with what is written before the texts of a kind."""
        codes = self.codes(ids)
        for kind, prefix in prefixes.items():
            of_kind = kinds == kind
            codes[of_kind] = self.strings.rewritten(codes[of_kind], partial("{}{}".format, prefix))
        return codes

    def texts(self, ids: Int64) -> list[str | None]:
        """The texts themselves; to be asked for distinct ids."""
        place = place_in(self._known, ids)
        rows = [None if each < 0 else int(self._first[each]) for each in place.tolist()]
        found: list[str | None] = self._values.gather(pl.Series(rows, dtype=pl.Int64)).to_list()
        return found


@dataclass(slots=True)
class Rows:
    """Slices of one table. Arrays are aligned; ``ABSENT`` and -1 are none.

    Attributes:
        category: Of ``trace.categories``.
        name_code: Their names.
        track: Numbers of tracks.
        start_ns: From the epoch.
        end_ns: Likewise.
        connection: What joins a task with the call that launched it.
        word_code: The category as a text of the file.
    """

    category: Int8
    name_code: Int32
    track: Int32
    start_ns: Int64
    end_ns: Int64
    connection: Int64
    word_code: Int32

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(slots=True)
class Tracks:
    """Numbers tracks as they are met."""

    tracks: list[Track] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def number(self, track: Track) -> int:
        """The number of a track; the first of its process and thread counts."""
        key = (track.pid, track.tid)
        if key not in self._numbers:
            self._numbers[key] = len(self.tracks)
            self.tracks.append(track)
        return self._numbers[key]


def joined(parts: Sequence[Rows], base_ns: int) -> ColumnArrays:
    """The slice table of these rows, in order."""
    start = np.concatenate([part.start_ns for part in parts])
    end = np.concatenate([part.end_ns for part in parts])
    absent = np.full(len(start), ABSENT, np.int64)
    return {
        "category": np.concatenate([part.category for part in parts]),
        "raw_category_code": np.concatenate([part.word_code for part in parts]),
        "name_code": np.concatenate([part.name_code for part in parts]),
        "track": np.concatenate([part.track for part in parts]),
        "start_ns": start - base_ns,
        "dur_ns": np.maximum(end - start, 0),
        "correlation": absent,
        "external_id": absent.copy(),
    }
