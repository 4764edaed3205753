"""What was read from the files of one device so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable


@dataclass(slots=True)
class Collected:
    """Rows of side tables, and what is no table.

    Attributes:
        quality: What was odd.
        rows: Side table → its rows, each with the values of the table's columns that it has.
        sources: Side table → names of the files they are from.
    """

    quality: QualityReport
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)

    def add(self, table: str, source: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows that a file tells of a side table; a file that tells none is not named."""
        count = len(self.rows.setdefault(table, []))
        self.rows[table].extend(rows)
        if len(self.rows[table]) > count and source not in self.sources.get(table, ()):
            self.sources.setdefault(table, []).append(source)

    def side_tables(self) -> tuple[SideTable, ...]:
        """The side tables that have rows."""
        return tuple(
            SideTable(
                name, ", ".join(self.sources[name]), pl.DataFrame(rows, schema=SIDE_SCHEMAS[name])
            )
            for name, rows in self.rows.items()
            if rows
        )
