"""Tables whose columns declare their values: from summed rows to the rows of a view.

A column says in its declaration how its values follow from the rows that the analysis summed
(``Column.value``), why they may be null (``Column.null_reason``) and with which grouping it exists
(``Column.only_grouped``); :func:`fill` applies that.

>>> rows = Rows(trace, groups)  # doctest: +SKIP
>>> fill(KERNELS, rows).frame["total_us"]  # doctest: +SKIP
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.trace import units
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed, not_grouped
from torch_tb_profiler.views.schema import POLARS_TYPES, Column, Table, TableSpec, Value
from torch_tb_profiler.views.shares import is_share


class Rows(Struct, frozen=True):
    """The rows that a table is filled from.

    Attributes:
        trace: The recording, for texts behind codes and for reasons.
        frame: One row per row of the table, with the columns that its values are computed from.
        group_by: How the rows were grouped; None where the view has no choice.
    """

    trace: Trace
    frame: pl.DataFrame
    group_by: str | None = None

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, key: str) -> pl.Series:
        return self.frame[key]


def fill(spec: TableSpec, rows: Rows) -> Table:
    """The table, in the order of ``rows``, with the reasons of the columns that hold nulls.

    Columns of shares without a value of their own are left out: ``views.shares.with_shares`` adds
    them when the rows are in order.
    """
    columns = [column for column in spec.columns if column.value or not is_share(column)]
    height = rows.frame.height
    frame = pl.DataFrame(
        [
            _values(column, rows).cast(POLARS_TYPES[column.type]).alias(column.key)
            if _applies(column, rows)
            else pl.Series(column.key, [None] * height, POLARS_TYPES[column.type])
            for column in columns
        ]
    )
    reasons = {column.key: reason for column in columns if (reason := _reason(column, rows))}
    return Table(spec, frame, needed(frame, reasons))


def _applies(column: Column, rows: Rows) -> bool:
    return column.only_grouped is None or column.only_grouped.group_by == rows.group_by


def _values(column: Column, rows: Rows) -> pl.Series:
    return rows[column.key] if column.value is None else column.value(rows)


def _reason(column: Column, rows: Rows) -> str | None:
    if column.only_grouped is not None and not _applies(column, rows):
        return not_grouped(column.only_grouped.label, column.only_grouped.group_by)
    reason = column.null_reason
    return reason if reason is None or isinstance(reason, str) else reason(rows.trace)


def microseconds(key: str, *, divisor: str | None = None) -> Value:
    """The nanoseconds of a column in µs, each divided by another column where one is named; null
    where that is 0."""
    return lambda rows: units.microseconds(rows[key], 1 if divisor is None else rows[divisor])


def text(key: str) -> Value:
    """The text behind each dictionary code of a column."""
    return lambda rows: codes.texts(rows.trace, rows[key])


def verdict(key: str) -> Value:
    """Verdicts (:mod:`torch_tb_profiler.analysis.algebra.codes`) as yes, no and null."""
    return lambda rows: codes.verdict_column(rows[key])
