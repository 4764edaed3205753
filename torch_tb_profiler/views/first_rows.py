"""Long tables whose first rows come with the view; all of them where the table is asked for."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.views.schema import Table

FIRST_ROWS = 2000
"""Rows that come with a view. Of thousands of ranks a row per rank and step would be megabytes."""


def first_rows(table: Table, count: int = FIRST_ROWS) -> Table:
    """``table`` with its first ``count`` rows, which completes itself when it is asked for
    (``views.querying.complete``); unchanged where it has no more."""
    height = table.frame.height
    if height <= count:
        return table
    return replace(table, frame=table.frame.head(count), row_count=height, all_rows=lambda: table)
