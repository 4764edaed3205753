"""The declaration of a raw table."""

from __future__ import annotations

from collections.abc import Callable, Collection

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.filling import Rows, fill
from torch_tb_profiler.views.schema import TableSpec


class RawTable(Struct, frozen=True):
    """A raw table.

    Attributes:
        spec: Its declaration; every column computes its values.
        rows: The table of a trace that it shows.
    """

    spec: TableSpec
    rows: Callable[[Trace], pl.DataFrame]

    def frame(self, trace: Trace, keys: Collection[str]) -> pl.DataFrame:
        """The columns named by ``keys`` of a trace, in order of the declaration."""
        columns = tuple(column for column in self.spec.columns if column.key in keys)
        return fill(replace(self.spec, columns=columns), Rows(trace, self.rows(trace))).frame
