"""From numpy columns with markers for absent values to polars columns with nulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.trace.columns import ABSENT, Int64, Table

NO_LINK = -1
"""Marks an absent id, row number, depth or dictionary code in the builder's own columns."""


def nullable(name: str, links: Int64) -> pl.Series:
    """A column of ids or row numbers with :data:`NO_LINK` as null."""
    series = pl.Series(name, links, pl.Int64)
    return series.set(series == NO_LINK, None)


def to_frame(
    columns: Mapping[str, npt.NDArray[Any]], schema: Mapping[str, Any], absent: Mapping[str, int]
) -> pl.DataFrame:
    """A frame of ``schema``; in the columns of ``absent`` that value becomes null, in float
    columns NaN does.
    """
    frame = pl.DataFrame(
        {name: pl.Series(columns[name], dtype=dtype) for name, dtype in schema.items()}
    )
    changes = [
        pl.when(pl.col(name) != marker).then(pl.col(name)).alias(name)
        for name, marker in absent.items()
    ]
    floats = [
        pl.col(name).fill_nan(None)
        for name in schema
        if np.issubdtype(columns[name].dtype, np.floating)
    ]
    return frame.with_columns(changes + floats)


def table_to_frame(table: Table) -> pl.DataFrame:
    """A table of :mod:`torch_tb_profiler.trace.columns` with its absent values as nulls."""
    schema = {name: pl.Series(values[:0]).dtype for name, values in table.items()}
    absent = {name: marker for name in table if (marker := absent_marker(name, table)) is not None}
    return to_frame(table, schema, absent)


def absent_marker(name: str, table: Table) -> int | None:
    """What marks an absent value in this column of an importer's table; None if nothing does."""
    if name.endswith("_code") or name == "is_async":
        return NO_LINK
    return int(ABSENT) if table[name].dtype == np.int64 else None
