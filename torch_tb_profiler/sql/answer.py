"""The answer to a query as a view with one table, so that everything that shows views shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import polars as pl

from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.sql.engine_values import AnswerRows, AnswerShape
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import TablePath
from torch_tb_profiler.sql.tables import SqlTable
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.schema import (
    POLARS_TYPES,
    Column,
    ColumnType,
    Note,
    Table,
    TableSpec,
    View,
)
from torch_tb_profiler.views.spec import ViewSpec

ANSWER = "answer"
"""Name of the only table of an answer."""

COMPUTED = "Computed by the query."
MAX_NAME = 200


def answer_result(
    shape: AnswerShape,
    rows: AnswerRows,
    tables: Mapping[TablePath, SqlTable],
    subject: Subject,
    notes: Sequence[Note],
) -> ViewResult:
    """The rows with the declarations of their columns."""
    declared = {
        (path, column.key): column
        for path, table in tables.items()
        for column in table.spec.columns
    }
    columns = tuple(
        _column(key, name, _kind(dtype), None if source is None else declared.get(source))
        for key, name, source, dtype in zip(
            _keys(shape.names), shape.names, shape.sources, rows.frame.dtypes, strict=True
        )
    )
    spec = TableSpec(
        ANSWER, "Answer", "One row per row of the answer.", columns, when_empty="No row matches."
    )
    frame = rows.frame.rename(
        {old: column.key for old, column in zip(rows.frame.columns, columns, strict=True)}
    )
    return _result(Table(spec, frame), subject, notes)


def left_out_note(file: SpanFile, error: LoadingError) -> Note:
    """A recording that could not be opened."""
    text = f"Worker {file.worker} is left out: {error.problem.message}"
    evidence: dict[str, object] = {"worker": file.worker, "file": file.location.name}
    return Note("quality", "worker_left_out", "warning", text, evidence)


def _column(key: str, name: str, kind: ColumnType, source: Column | None) -> Column:
    title = visible(name)[:MAX_NAME]
    if source is None:
        return Column(key, title, kind, None, COMPUTED)
    if name.lower() == source.key:
        title = source.title
    is_number = kind in ("integer", "number")
    return Column(key, title, kind, source.unit if is_number else None, source.help)


def _kind(dtype: pl.DataType) -> ColumnType:
    kinds: tuple[ColumnType, ...] = ("string", "integer", "number", "boolean")
    return next(kind for kind in kinds if dtype == POLARS_TYPES[kind])


def _keys(names: Sequence[str]) -> list[str]:
    """Names that are different from each other."""
    keys: dict[str, None] = {}
    for name in names:
        shown = visible(name)[:MAX_NAME] or "column"
        key, number = shown, 1
        while key in keys:
            number += 1
            key = f"{shown}_{number}"
        keys[key] = None
    return list(keys)


def cut_note(limits: SqlLimits) -> Note:
    """The answer has more rows than its limit."""
    text = (
        f"The answer has more than {limits.rows:,} rows; these are the first. Restrict or group "
        "them in the query, or raise the limit (--max-rows, max_rows)."
    )
    return Note("quality", "rows_cut", "info", text, {"rows": limits.rows})


def _result(table: Table, subject: Subject, notes: Sequence[Note]) -> ViewResult:
    """The table as the result of a view that is in no list of views."""
    view_spec = ViewSpec(
        name="sql",
        title="SQL",
        help="How do I ask a question of my own?",
        scope="run",
        tables=(table.spec,),
        function=_no_view,
        on_pages=False,
    )
    return ViewResult(view_spec, View(tables={table.spec.name: table}, notes=tuple(notes)), subject)


def _no_view(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError("the answer of a query is computed by the query")
