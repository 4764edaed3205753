"""Columns of a table whose rows have a time: rows without one are left out and counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport


class TimedRows:
    """The rows of a table that begin at some time; their columns are read when they are asked for,
    some at once."""

    def __init__(
        self, database: Database, table: str, quality: QualityReport, *, start: str = "start"
    ) -> None:
        """Read when they begin.

        Args:
            database: The export.
            table: Its table, which may be absent.
            quality: Is told of rows without a time.
            start: The column of the time.
        """
        self._database = database
        self._table = table
        self.start_ns = database.ints(table, [start])[start]
        self._count = len(self.start_ns)
        self._kept: Bools | None = None
        timed = self.start_ns != ABSENT
        quality.add("event_without_time", int((~timed).sum()), table)
        self.keep(timed)

    def __len__(self) -> int:
        return len(self.start_ns)

    def __getitem__(self, column: str) -> Int64:
        return self.columns(column)[column]

    def columns(self, *columns: str) -> dict[str, Int64]:
        """Some columns, read at once; all of them are in memory."""
        wanted: Sequence[str] = columns
        read = self._database.ints(self._table, wanted)
        for name, values in read.items():
            if len(values) != self._count:  # the table is damaged, and ends elsewhere for each
                read[name] = np.full(self._count, ABSENT)
                read[name][: len(values)] = values[: self._count]
        if self._kept is None:
            return read
        return {name: read.pop(name)[self._kept] for name in tuple(read)}

    def floats(self, column: str) -> Float64:
        """A column of numbers; NaN is absent."""
        values = self._database.floats(self._table, [column])[column]
        whole = np.full(self._count, np.nan)
        whole[: len(values)] = values[: self._count]
        return whole if self._kept is None else whole[self._kept]

    def keep(self, wanted: Bools) -> None:
        """Leave out all rows but some of them."""
        if wanted.all():
            return
        if self._kept is None:
            self._kept = wanted
        else:
            self._kept[np.flatnonzero(self._kept)] = wanted
        self.start_ns = self.start_ns[wanted]


def within(values: Int64, most: int) -> Int64:
    """The values, absent where they are negative or beyond ``most``."""
    return np.where((values >= 0) & (values <= most), values, ABSENT)
