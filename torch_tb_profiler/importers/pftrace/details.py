"""Columns of arguments → the tables of details, of the kinds of slices that have them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.pftrace.argument_targets import ORDER, Target
from torch_tb_profiler.importers.pftrace.values import ArgumentColumn
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    Bools,
    ColumnArrays,
    Int8,
    Int64,
    empty_table,
)

Columns = Mapping[str, tuple[Target, list[ArgumentColumn]]]
"""Name of an argument → where it belongs, and its parts."""

KINDS: dict[str, tuple[EventKind, ...]] = {
    "operator": (EventKind.HOST_SLICE, EventKind.OTHER_SLICE),
    "python": (EventKind.PYTHON_SLICE, EventKind.OTHER_SLICE),
    "device": (EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "collective": (EventKind.HOST_SLICE, EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "stated": (EventKind.HOST_SLICE, EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "memory": (EventKind.INSTANT,),
}
"""Which slices a table is read of, as of Kineto's JSON."""

COLLECTIVE_MARKS = ("collective_code", "group_code", "in_nelems")
"""Any of these is collective metadata; a dtype alone may be a keyword of the user's own range."""


def absent_value(dtype: type[np.generic]) -> float | int:
    """What stands for nothing in a column."""
    if dtype is np.int64:
        return ABSENT
    return float("nan") if dtype is np.float64 else -1


def is_present(values: npt.NDArray[np.generic]) -> Bools:
    """Which values of a column are there."""
    if values.dtype == np.int64:
        return np.asarray(values != ABSENT)
    if values.dtype == np.float64:
        return np.asarray(~np.isnan(values.astype(np.float64)))
    return np.asarray(values.astype(np.int64) >= 0)


def whole_column(columns: Columns, table: str, column: str, row_of: Int64, size: int) -> Int64:
    """A column that every slice has.

    Args:
        columns: The arguments.
        table: Where it belongs.
        column: Its name.
        row_of: Per row of the arguments the row of the slice; -1 for none.
        size: Number of slices.
    """
    values = np.full(size, ABSENT, np.int64)
    for _, part in _parts(columns, table, column):
        row = row_of[part.rows]
        kept = (row >= 0) & (part.values != ABSENT)
        values[row[kept]] = part.values[kept]
    return values


def _parts(columns: Columns, table: str, column: str) -> list[tuple[int, ArgumentColumn]]:
    """The parts of one column; those of names that come first count, so they stand last."""
    found = [
        (ORDER[name], part)
        for name, (target, parts) in columns.items()
        if (target.table, target.column) == (table, column)
        for part in parts
    ]
    return sorted(found, key=lambda one: -one[0])


def detail_table(columns: Columns, table: str, row_of: Int64, kind: Int8) -> ColumnArrays:
    """A table with a row for each slice that has any of its arguments.

    Args:
        columns: The arguments.
        table: Of :data:`KINDS`.
        row_of: Per row of the arguments the row of the slice; -1 for none.
        kind: Per slice its :class:`~torch_tb_profiler.importers.kineto.event_kinds.EventKind`.
    """
    is_read = np.isin(kind, [int(each) for each in KINDS[table]])
    dtypes = TABLE_COLUMNS[table]
    found: dict[str, list[tuple[Int64, npt.NDArray[np.generic]]]] = {}
    for column in dtypes:
        for _, part in _parts(columns, table, column):
            row = row_of[part.rows]
            kept = (row >= 0) & is_present(part.values)
            kept[kept] = is_read[row[kept]]
            if kept.any():
                found.setdefault(column, []).append((row[kept], part.values[kept]))
    if not found:
        return empty_table(table)
    has_any = np.zeros(kind.size, np.bool_)
    for parts in found.values():
        for rows, _ in parts:
            has_any[rows] = True
    present = np.flatnonzero(has_any)
    place = np.cumsum(has_any) - 1
    filled: ColumnArrays = {}
    for column, dtype in dtypes.items():
        values = np.full(present.size, absent_value(dtype), dtype)
        for rows, given in found.get(column, []):
            values[place[rows]] = given
        filled[column] = values
    filled["slice"] = present
    return _marked(filled) if table == "collective" else filled


def _marked(table: ColumnArrays) -> ColumnArrays:
    kept = np.zeros(table["slice"].size, np.bool_)
    for column in COLLECTIVE_MARKS:
        kept |= is_present(table[column])
    return {column: values[kept] for column, values in table.items()}
