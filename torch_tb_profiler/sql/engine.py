"""Runs in the process of a query: reads it, checks it against the tables, and computes the answer.

DuckDB's own limits are not enough: texts that functions build count in no limit of it, and a single
call of a function is not interrupted. Therefore the process has a limit of its address space, and
whoever started it kills it when the time is up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.loading.processes.resources import usable_cores
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.duckdb_problems import problem_of
from torch_tb_profiler.sql.engine_values import (
    AnswerRows,
    AnswerShape,
    TableFiles,
    TableShape,
)
from torch_tb_profiler.sql.limits import (
    MAX_ANSWER_BYTES,
    MAX_COLUMNS,
    MAX_DEPTH,
    MAX_THREADS,
    SqlLimits,
)
from torch_tb_profiler.sql.memory_limit import memory_limited
from torch_tb_profiler.sql.sources import output_sources
from torch_tb_profiler.sql.statement import (
    Statement,
    TablePath,
    query_tree,
    read_references,
)

_TYPES = {"string": "varchar", "integer": "bigint", "number": "double", "boolean": "boolean"}
"""Column type of a declared table → type of DuckDB."""

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE_INTEGERS = ("HUGEINT", "UHUGEINT", "UBIGINT")
_MAX_INT64 = (1 << 63) - 1


class _Stream:
    """A frame as an Arrow stream and nothing else: of a frame itself DuckDB would want pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def read_statement(text: str) -> Statement | Problem:
    """The references of a query, or why it is refused."""
    with _connection() as connection, _locked(connection, SqlLimits()):
        root = query_tree(connection, text)
        return root if isinstance(root, Problem) else read_references(text, root)


def check_statement(
    text: str, shapes: Sequence[TableShape], hidden: Sequence[TableShape], limits: SqlLimits
) -> AnswerShape | Problem:
    """The columns of the answer, or what does not fit the tables; no rows are read.

    Args:
        text: The query.
        shapes: The tables that it names.
        hidden: Those of names that it also defines itself (``with``): it may mean either.
        limits: Its limits: what is constant in it is computed here already.
    """
    answer = _bound(text, shapes, limits)
    if isinstance(answer, Problem) and hidden:
        answer = _bound(text, [*shapes, *hidden], limits)
        return answer if isinstance(answer, Problem) else replace(answer, uses_hidden=True)
    return answer


def _bound(text: str, shapes: Sequence[TableShape], limits: SqlLimits) -> AnswerShape | Problem:
    with memory_limited(limits.memory_bytes), _connection() as connection:
        for shape in shapes:
            columns = ", ".join(f"{_quoted(key)} {_TYPES[kind]}" for key, kind in shape.columns)
            _create_schema(connection, shape.path)
            connection.execute(f"create table {_name(shape.path)} ({columns})")
        with _locked(connection, limits):
            root = query_tree(connection, text)
            if isinstance(root, Problem):
                return root
            try:
                names = connection.sql(text).columns
            except (duckdb.OutOfMemoryException, MemoryError) as error:
                return problem_of(error, text, limits)
            except duckdb.Error as error:
                return problem_of(_with_position(connection, text, error), text, limits)
    if len(names) > MAX_COLUMNS:
        message = f"The answer has {len(names)} columns; {MAX_COLUMNS} are possible."
        return Problem("sql_columns", message, "Select fewer columns.")
    tables = {shape.path: [key for key, _ in shape.columns] for shape in shapes}
    sources = output_sources(root, tables)
    if sources is None or len(sources) != len(names):
        sources = [None] * len(names)
    return AnswerShape(tuple(names), tuple(sources))


def compute_answer(
    text: str, tables: Sequence[TableFiles], limits: SqlLimits
) -> AnswerRows | Problem:
    """The first ``limits.rows`` rows of the answer, or why there are none."""
    parts = [(each.path, [pl.read_ipc(file) for file in each.files]) for each in tables]
    frames = [(path, pl.concat(frames, rechunk=False)) for path, frames in parts]
    size_bytes = sum(int(frame.estimated_size()) for _, frame in frames)
    with memory_limited(limits.memory_bytes + size_bytes), _connection() as connection:
        for number, (path, frame) in enumerate(frames):
            connection.register(f"rows_{number}", _Stream(frame))
            _create_schema(connection, path)
            connection.execute(f"create view {_name(path)} as from temp.rows_{number}")
        with _locked(connection, limits):
            try:
                relation = connection.sql(text)
                selected = ", ".join(
                    _selected(number, str(kind)) for number, kind in enumerate(relation.types)
                )
                rows = pl.DataFrame(relation.project(selected).limit(limits.rows + 1))
            except (duckdb.Error, MemoryError) as error:
                return problem_of(error, text, limits)
    frame = _in_column_types(rows.head(limits.rows))
    if frame.estimated_size() > MAX_ANSWER_BYTES:
        message = f"The answer is larger than {MAX_ANSWER_BYTES >> 20} MiB."
        return Problem("sql_answer", message, "Select fewer columns or rows, or shorten texts.")
    return AnswerRows(frame, rows.height > limits.rows)


@contextlib.contextmanager
def _connection() -> Iterator[Any]:
    """A database in memory. Its name is not ``memory``, so that a schema can be called so."""
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("set python_enable_replacements = false")
        for statement in ("attach ':memory:' as trace", "use trace", "detach memory"):
            connection.execute(statement)
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def _locked(connection: Any, limits: SqlLimits) -> Iterator[None]:
    """From now on no file, no network, no extension and no other setting is reachable."""
    for setting, value in (
        ("memory_limit", f"'{limits.memory_bytes}B'"),
        ("threads", str(min(usable_cores(), MAX_THREADS))),
        ("max_expression_depth", str(MAX_DEPTH)),
        ("temp_directory", "''"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
    ):
        connection.execute(f"set {setting} = {value}")
    yield


def _with_position(connection: Any, text: str, error: Exception) -> Exception:
    """The same error with the line of the query, which only a statement has: it does not run."""
    try:
        connection.execute(text)
    except duckdb.Error as other:
        return other
    return error


def _create_schema(connection: Any, path: TablePath) -> None:
    if len(path) > 1:
        connection.execute(f"create schema if not exists {_quoted(path[0])}")


def _name(path: TablePath) -> str:
    return ".".join(map(_quoted, path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _selected(number: int, kind: str) -> str:
    """A column of the answer in a type that columns of views have; others become texts."""
    column = f"#{number + 1}"
    if kind not in (*_INTEGERS, *_LARGE_INTEGERS, "BOOLEAN", "VARCHAR"):
        is_number = kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL")
        column = f"{column}::{'double' if is_number else 'varchar'}"
    if kind == "UBIGINT":
        column = f"{column}::hugeint"
    return f"{column} as c{number}"


def _in_column_types(rows: pl.DataFrame) -> pl.DataFrame:
    """Integers as int64; a column in which one is too large for it as floats."""
    columns = []
    for column in rows.iter_columns():
        if column.dtype.is_decimal():
            magnitude = column.abs().max()
            fits = magnitude is None or Decimal(str(magnitude)) <= _MAX_INT64
            columns.append(column.cast(pl.Int64 if fits else pl.Float64))
        elif column.dtype.is_integer():
            columns.append(column.cast(pl.Int64))
        else:
            columns.append(column)
    return pl.DataFrame(columns)
