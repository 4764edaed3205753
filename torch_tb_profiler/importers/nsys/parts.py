"""The result of reading a table of an export: slices, and rows of other tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    Int8,
    Int32,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.constant_columns import concatenate, constant


class SliceColumns(Struct):
    """Columns of the slice table, as in ``TABLE_COLUMNS``; arrays of equal length."""

    category: Int8
    raw_category_code: Int32
    name_code: Int32
    track: Int32
    start_ns: Int64
    dur_ns: Int64
    correlation: Int64
    external_id: Int64

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def build(
        cls,
        *,
        category: int | Int8,
        raw_category_code: int | Int32,
        name_code: Int32,
        track: Int32,
        start_ns: Int64,
        end_ns: Int64,
        correlation: Int64 | None = None,
    ) -> SliceColumns:
        """Build slices from starts and ends, with one category for all or one for each. The
        duration is absent where the end is."""
        size = len(start_ns)
        absent = constant(ABSENT, size, np.int64)
        dur_ns = end_ns - start_ns
        dur_ns[end_ns == ABSENT] = ABSENT
        return cls(
            category=_column(category, size, np.int8),
            raw_category_code=_column(raw_category_code, size, np.int32),
            name_code=name_code,
            track=track,
            start_ns=start_ns,
            dur_ns=dur_ns,
            correlation=absent if correlation is None else correlation,
            external_id=absent,
        )


def _column(value: Any, size: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value.astype(dtype, copy=False)
    return constant(value, size, dtype)


class SlicePart(Struct):
    """Slices of one kind, with rows of other tables.

    Attributes:
        slices: The slices.
        tables: Rows of other tables of :data:`~torch_tb_profiler.trace.columns.TABLE_COLUMNS`;
            their ``slice`` columns count from the first slice of this part.
    """

    slices: SliceColumns
    tables: dict[str, ColumnArrays] = field(default_factory=dict)


def empty_slices() -> SliceColumns:
    """Slice columns without rows."""
    return SliceColumns(**empty_table("slices"))


def build_table(table: str, size: int, **columns: npt.NDArray[Any]) -> ColumnArrays:
    """Build a table with ``size`` rows; columns that are not given are absent.

    Raises:
        KeyError: there is no such table.
    """
    rows: ColumnArrays = {}
    for name, dtype in TABLE_COLUMNS[table].items():
        if name in columns:
            rows[name] = columns[name].astype(dtype, copy=False)
        else:
            rows[name] = constant(_absent(dtype), size, dtype)
    return rows


def _absent(dtype: type[np.generic]) -> Any:
    if dtype is np.int64:
        return ABSENT
    return np.nan if dtype is np.float64 else -1


def join_parts(parts: list[SlicePart]) -> dict[str, ColumnArrays]:
    """Concatenate the parts to the tables of
    :data:`~torch_tb_profiler.trace.columns.TABLE_COLUMNS`. The parts are emptied meanwhile, so that
    no column is in memory twice."""
    first = 0
    for part in parts:
        for table in part.tables.values():
            if "slice" in table:
                table["slice"] = table["slice"] + first
        first += len(part.slices)
    tables: dict[str, ColumnArrays] = {"slices": {}}
    for column in SliceColumns.__struct_fields__:
        arrays = [getattr(part.slices, column) for part in parts]
        tables["slices"][column] = concatenate(arrays, TABLE_COLUMNS["slices"][column])
        del arrays
        for part in parts:
            setattr(part.slices, column, np.empty(0, np.int64))
    for name, columns in TABLE_COLUMNS.items():
        if name == "slices":
            continue
        parts_of_table = [part.tables.pop(name) for part in parts if name in part.tables]
        tables[name] = {
            column: concatenate([table.pop(column) for table in parts_of_table], dtype)
            for column, dtype in columns.items()
        }
    return tables
