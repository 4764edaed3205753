"""Columns of a table for the rows that have a time; rows without one are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport


class TimedRows:
    """The rows of a table that have a start; columns are read when they are requested."""

    def __init__(
        self, database: Database, table: str, quality: QualityReport, *, start: str = "start"
    ) -> None:
        """Read the starts.

        Args:
            database: The export.
            table: A table, which may be missing.
            quality: Gets the number of rows without a time.
            start: Column of the start.
        """
        self._database = database
        self._table = table
        self.start_ns = database.ints(table, [start])[start]
        self._count = len(self.start_ns)
        self._selected: Bools | None = None
        timed = self.start_ns != ABSENT
        quality.add("event_without_time", int((~timed).sum()), table)
        self.select(timed)

    def __len__(self) -> int:
        return len(self.start_ns)

    def __getitem__(self, column: str) -> Int64:
        return self.columns(column)[column]

    def columns(self, *columns: str) -> dict[str, Int64]:
        """Several columns, read together."""
        wanted: Sequence[str] = columns
        read = self._database.ints(self._table, wanted)
        for name, values in read.items():
            if len(values) != self._count:  # the table is damaged; columns end at different rows
                read[name] = np.full(self._count, ABSENT)
                read[name][: len(values)] = values[: self._count]
        if self._selected is None:
            return read
        return {name: read.pop(name)[self._selected] for name in tuple(read)}

    def floats(self, column: str) -> Float64:
        """A column of numbers; NaN where absent."""
        values = self._database.floats(self._table, [column])[column]
        whole = np.full(self._count, np.nan)
        whole[: len(values)] = values[: self._count]
        return whole if self._selected is None else whole[self._selected]

    def select(self, wanted: Bools) -> None:
        """Restrict the rows to those that are ``wanted``."""
        if wanted.all():
            return
        if self._selected is None:
            self._selected = wanted
        else:
            self._selected[np.flatnonzero(self._selected)] = wanted
        self.start_ns = self.start_ns[wanted]


def within(values: Int64, limit: int) -> Int64:
    """The values, absent where they are negative or larger than ``limit``."""
    if len(values) and values.min() >= 0 and values.max() <= limit:
        return values
    return np.where((values >= 0) & (values <= limit), values, ABSENT)
