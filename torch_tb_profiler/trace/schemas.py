"""The columns of every table of a trace, by its name in :class:`trace.model.Trace`."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.trace.columns import empty_table
from torch_tb_profiler.trace.model import TABLES
from torch_tb_profiler.trace.nulls import table_to_frame

_FROM_IMPORTER = {
    name: name
    for name in ("python", "stated", "memory", "flows", "counters", "instants", "samples")
} | {"collectives": "collective"}
"""Tables of a trace that have the columns of an importer's table."""

_ADDED: dict[str, dict[str, Any]] = {"memory": {"owner": pl.Int64, "frame": pl.Int64}}

NAMES = (*TABLES, *_FROM_IMPORTER)


def schema_of(table: str) -> pl.Schema:
    """Columns and types of a table.

    Raises:
        KeyError: there is no such table.
    """
    if table in TABLES:
        return pl.Schema(TABLES[table])
    columns = table_to_frame(empty_table(_FROM_IMPORTER[table])).schema
    return pl.Schema({**columns, **_ADDED.get(table, {})})
