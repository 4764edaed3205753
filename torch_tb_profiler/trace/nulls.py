"""Convert numpy columns with absence markers to polars columns with nulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int64
from torch_tb_profiler.trace.constant_columns import is_constant

NO_LINK = -1
"""Marks an absent id, row number, depth or dictionary code in the builder's own columns."""


POLARS_TYPES: dict[type[np.generic], Any] = {
    np.bool_: pl.Boolean,
    np.int8: pl.Int8,
    np.int32: pl.Int32,
    np.int64: pl.Int64,
    np.float64: pl.Float64,
}
"""Types of the columns of :data:`~torch_tb_profiler.trace.columns.TABLE_COLUMNS`."""


def nullable(name: str, links: Int64) -> pl.Series:
    """A column of ids or row numbers with :data:`NO_LINK` as null."""
    return _series(name, links, pl.Int64, NO_LINK)


def to_frame(
    columns: dict[str, npt.NDArray[Any]],
    schema: Mapping[str, Any],
    absent: Mapping[str, int | Bools],
) -> pl.DataFrame:
    """A frame of ``schema``; in the columns of ``absent`` that value becomes null, or the rows of
    that mask, in float columns NaN does.

    The arrays are taken out of ``columns`` one by one: if types agree and nothing is absent the
    frame uses their memory, else the converted array is freed at once.
    """
    return pl.DataFrame(
        [
            _series(name, columns.pop(name), dtype, absent.get(name))
            for name, dtype in schema.items()
        ]
    )


def _series(
    name: str, values: npt.NDArray[Any], dtype: Any, marker: int | Bools | None
) -> pl.Series:
    if is_constant(values) and not isinstance(marker, np.ndarray):
        value = None if _is_marker(values[0], marker) else values[0].item()
        return pl.repeat(value, len(values), dtype=dtype, eager=True).alias(name)
    series = pl.Series(name, values, dtype)
    if np.issubdtype(values.dtype, np.floating):
        missing = np.isnan(values)
    elif isinstance(marker, np.ndarray):
        missing = marker
    elif marker is not None:
        missing = values == marker
    else:
        return series
    if len(values) and missing.all():  # takes memory only for the null mask
        return pl.repeat(None, len(values), dtype=dtype, eager=True).alias(name)
    return series.set(pl.Series(missing), None) if missing.any() else series


def _is_marker(value: Any, marker: int | None) -> bool:
    return bool(np.isnan(value) if isinstance(value, np.floating) else value == marker)


def table_to_frame(table: ColumnArrays) -> pl.DataFrame:
    """A table of :mod:`torch_tb_profiler.trace.columns` with its absent values as nulls."""
    schema = {name: pl.Series(values[:0]).dtype for name, values in table.items()}
    absent = {name: marker for name in table if (marker := absent_marker(name, table)) is not None}
    return to_frame(dict(table), schema, absent)


def absent_marker(name: str, table: ColumnArrays) -> int | None:
    """The marker of absent values in this column of an importer's table; None if there is none."""
    if name.endswith("_code") or name == "is_async":
        return NO_LINK
    return int(ABSENT) if table[name].dtype == np.int64 else None
