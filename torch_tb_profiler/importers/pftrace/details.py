"""Columns of arguments → tables of details, for the kinds of slices that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.structs import NODE_FIELDS
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.argument_targets import NAMED, ORDER, Form, Target
from torch_tb_profiler.importers.pftrace.values import ArgumentColumn
from torch_tb_profiler.importers.slice_arguments import one_argument
from torch_tb_profiler.trace.categories import GRAPH_NODES
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
"""Name of an argument → its target and the parts of its column."""

KINDS: dict[str, tuple[EventKind, ...]] = {
    "operator": (EventKind.HOST_SLICE, EventKind.OTHER_SLICE),
    "python": (EventKind.PYTHON_SLICE, EventKind.OTHER_SLICE),
    "device": (EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "collective": (EventKind.HOST_SLICE, EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "stated": (EventKind.HOST_SLICE, EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE),
    "memory": (EventKind.INSTANT,),
}
"""The kinds of slices that a table is read for, as in Kineto's JSON."""

COLLECTIVE_MARKS = ("collective_code", "group_code", "in_nelems")
"""Any of these marks collective metadata; a dtype alone may be an argument of a user's range."""


def named_arguments(
    columns: Columns, row_of: Int64, slices: ColumnArrays, kind: Int8, strings: Interner
) -> Iterator[ColumnArrays]:
    """Rows of the table ``arguments``: as in JSON, of copies, and of nodes of graphs that are no
    device work.

    Args:
        columns: The arguments.
        row_of: Per row of the arguments the row of the slice; -1 for none.
        slices: The slices.
        kind: Per slice its :class:`~torch_tb_profiler.importers.kineto.event_kinds.EventKind`.
        strings: The strings of the file; keys are added.
    """
    is_work = kind == EventKind.DEVICE_SLICE
    node_codes = [strings.get(name, -2) for name in GRAPH_NODES]
    is_node = np.isin(slices["raw_category_code"], node_codes)
    for name, target in NAMED.items():
        if name not in columns:
            continue
        is_owner = is_work & (is_node if target.name in NODE_FIELDS else True)
        for part in columns[name][1]:
            row = row_of[part.rows]
            used = np.flatnonzero((row >= 0) & is_present(part.values))
            used = used[is_owner[row[used]]]
            if not used.size:
                continue
            values = part.values[used]
            is_text = target.form is Form.TEXT
            yield one_argument(
                row[used],
                strings[name],
                values=None if is_text else values,
                text_codes=values if is_text else None,
            )


def absent_value(dtype: type[np.generic]) -> float | int:
    """The value of absent entries in a column."""
    if dtype is np.int64:
        return ABSENT
    return float("nan") if dtype is np.float64 else -1


def is_present(values: npt.NDArray[np.generic]) -> Bools:
    """Which values of a column are present."""
    if values.dtype == np.int64:
        return np.asarray(values != ABSENT)
    if values.dtype == np.float64:
        return np.asarray(~np.isnan(values.astype(np.float64)))
    return np.asarray(values.astype(np.int64) >= 0)


def slice_column(columns: Columns, table: str, column: str, row_of: Int64, size: int) -> Int64:
    """A column with one value per slice; :data:`ABSENT` where the argument is absent.

    Args:
        columns: The arguments.
        table: The table of the column.
        column: Its name.
        row_of: Per row of the arguments, the row of the slice; -1 for none.
        size: Number of slices.
    """
    values = np.full(size, ABSENT, np.int64)
    for _, part in _parts(columns, table, column):
        row = row_of[part.rows]
        is_used = (row >= 0) & (part.values != ABSENT)
        values[row[is_used]] = part.values[is_used]
    return values


def _parts(columns: Columns, table: str, column: str) -> list[tuple[int, ArgumentColumn]]:
    """The parts of one column, in ascending precedence of the names of their arguments."""
    parts_in_order = [
        (ORDER[name], part)
        for name, (target, parts) in columns.items()
        if (target.table, target.column) == (table, column)
        for part in parts
    ]
    return sorted(parts_in_order, key=lambda part: -part[0])


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
    parts_of: dict[str, list[tuple[Int64, npt.NDArray[np.generic]]]] = {}
    for column in dtypes:
        for _, part in _parts(columns, table, column):
            row = row_of[part.rows]
            is_used = (row >= 0) & is_present(part.values)
            is_used[is_used] = is_read[row[is_used]]
            if is_used.any():
                parts_of.setdefault(column, []).append((row[is_used], part.values[is_used]))
    if not parts_of:
        return empty_table(table)
    has_any = np.zeros(kind.size, np.bool_)
    for parts in parts_of.values():
        for rows, _ in parts:
            has_any[rows] = True
    present = np.flatnonzero(has_any)
    row_in_table = np.cumsum(has_any) - 1
    filled: ColumnArrays = {}
    for column, dtype in dtypes.items():
        values = np.full(present.size, absent_value(dtype), dtype)
        for rows, part_values in parts_of.get(column, []):
            values[row_in_table[rows]] = part_values
        filled[column] = values
    filled["slice"] = present
    return _with_metadata(filled) if table == "collective" else filled


def _with_metadata(table: ColumnArrays) -> ColumnArrays:
    """The rows that have any of :data:`COLLECTIVE_MARKS`."""
    has_mark = np.zeros(table["slice"].size, np.bool_)
    for column in COLLECTIVE_MARKS:
        has_mark |= is_present(table[column])
    return {column: values[has_mark] for column, values in table.items()}
