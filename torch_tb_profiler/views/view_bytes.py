"""A view as bytes, and back, so that it need not be computed again.

Tables are Arrow, everything else MessagePack, which keeps integers and floats apart. A declaration
is only written where it is not one of the view's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

import msgspec
import polars as pl

from torch_tb_profiler.once import set_up
from torch_tb_profiler.views.schema import (
    Column,
    ColumnSum,
    Fact,
    Line,
    Note,
    Series,
    Table,
    TableSpec,
    View,
)
from torch_tb_profiler.views.spec import ViewSpec


class _TableBytes(msgspec.Struct, frozen=True, array_like=True):
    """A table; ``spec`` is None for a table that the view declares, ``has_more`` says that it can
    compute more rows."""

    spec: dict[str, Any] | None
    rows: bytes
    null_reasons: dict[str, str]
    row_count: int | None
    filtered_out: bool
    sums: dict[str, ColumnSum] | None
    has_more: bool


class _ViewBytes(msgspec.Struct, frozen=True, array_like=True):
    """A view. What has numbers is not typed, so that each stays what it was."""

    tables: dict[str, _TableBytes]
    series: dict[str, dict[str, Any]]
    facts: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    answer: str | None


def to_bytes(view: View, spec: ViewSpec) -> bytes:
    """The bytes of a view.

    Raises:
        TypeError, OverflowError, UnicodeEncodeError: it holds what they cannot.
    """
    declared = {table.name: table for table in spec.tables}
    parts = (view.series, view.facts, view.notes)
    series, facts, notes = msgspec.msgpack.decode(msgspec.msgpack.encode(parts))
    tables = {name: _table_bytes(table, declared) for name, table in view.tables.items()}
    return msgspec.msgpack.encode(_ViewBytes(tables, series, facts, notes, view.answer))


def from_bytes(data: bytes, spec: ViewSpec, compute: Callable[[], View]) -> View:
    """The view of :func:`to_bytes`.

    Args:
        data: The bytes.
        spec: Its declaration.
        compute: Computes it: for the rest of the rows of a table that only has the first ones.

    Raises:
        Exception: the bytes are something else.
    """
    stored = msgspec.msgpack.decode(data, type=set_up(_ViewBytes))
    declared = {table.name: table for table in spec.tables}
    return View(
        tables={
            name: _table(name, table, declared, compute) for name, table in stored.tables.items()
        },
        series={
            name: Series(**{**one, "lines": tuple(Line(**line) for line in one["lines"])})
            for name, one in stored.series.items()
        },
        facts=tuple(Fact(**fact) for fact in stored.facts),
        notes=tuple(Note(**note) for note in stored.notes),
        answer=stored.answer,
    )


def _table_bytes(table: Table, declared: dict[str, TableSpec]) -> _TableBytes:
    rows = BytesIO()
    # A clone: polars locks the frame it writes.
    table.frame.clone().write_ipc_stream(rows, compression="uncompressed")
    return _TableBytes(
        None if table.spec == declared.get(table.spec.name) else _spec_parts(table.spec),
        rows.getvalue(),
        table.null_reasons,
        table.row_count,
        table.filtered_out,
        table.sums,
        table.all_rows is not None,
    )


def _table(
    name: str, stored: _TableBytes, declared: dict[str, TableSpec], compute: Callable[[], View]
) -> Table:
    return Table(
        declared[name] if stored.spec is None else _spec_of(stored.spec),
        pl.read_ipc_stream(stored.rows),
        stored.null_reasons,
        stored.row_count,
        stored.filtered_out,
        stored.sums,
        partial(_all_rows, name, compute) if stored.has_more else None,
    )


def _all_rows(name: str, compute: Callable[[], View]) -> Table:
    table = compute().tables[name]
    return table if table.all_rows is None else table.all_rows()


_OF_FILLING = ("value", "null_reason", "only_grouped")
"""What a column only needs before its table is filled."""


def _spec_parts(spec: TableSpec) -> dict[str, Any]:
    keys = [key for key in Column.__struct_fields__ if key not in _OF_FILLING]
    columns = [{key: getattr(column, key) for key in keys} for column in spec.columns]
    return {**{key: getattr(spec, key) for key in spec.__struct_fields__}, "columns": columns}


def _spec_of(parts: dict[str, Any]) -> TableSpec:
    columns = tuple(Column(**column) for column in parts["columns"])
    tree = parts["tree"] and tuple(parts["tree"])
    return TableSpec(**{**parts, "columns": columns, "tree": tree})
