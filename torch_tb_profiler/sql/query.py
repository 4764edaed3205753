"""A query from its text to its answer, which is a view with one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from msgspec import Struct

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.processes.scratch import scratch_folder
from torch_tb_profiler.loading.queries.traces import open_what_fits
from torch_tb_profiler.loading.store.trace_store import WantedTrace
from torch_tb_profiler.requests.errors import LoadingError, RequestError, UnknownError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.sql import engine_calls
from torch_tb_profiler.sql.answer import answer_result, cut_note, left_out_note
from torch_tb_profiler.sql.engine_values import AnswerShape, TableShape
from torch_tb_profiler.sql.export import Exporter
from torch_tb_profiler.sql.limits import MAX_TEXT, SqlLimits
from torch_tb_profiler.sql.process import IsCancelled, not_cancelled, query_process
from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.selecting import check_group_by, selection_notes
from torch_tb_profiler.sql.statement import Statement, TablePath
from torch_tb_profiler.sql.tables import SqlTable, resolve_table
from torch_tb_profiler.storage.discovery import SpanFile

EXTRA_HINT = "pip install 'torch-tb-profiler[sql]'"


class PreparedQuery(Struct, frozen=True):
    """A query that fits the tables.

    Attributes:
        text: Its text.
        limits: What it may use.
        statement: What it refers to.
        tables: The tables by their names in it.
        shape: The columns of its answer.
        is_cancelled: Whether nobody waits for the answer any more.
    """

    text: str
    limits: SqlLimits
    statement: Statement
    tables: Mapping[TablePath, SqlTable]
    shape: AnswerShape
    is_cancelled: IsCancelled

    def result(
        self,
        catalog: Catalog,
        files: Sequence[SpanFile],
        subject: Subject,
        *,
        wait_s: float | None = 0.0,
    ) -> ViewResult:
        """The answer.

        Args:
            catalog: The traces.
            files: The recordings that the query is about.
            subject: What they are called together; which part of them views are about, how these
                are grouped, and what else is asked of them.
            wait_s: How long to wait for traces to be parsed; None for as long as it takes.

        Raises:
            NotReadyError: traces are still being parsed after the timeout.
            RequestError: a limit is reached, the query fails with the rows that there are, no
                recording has data for a table, or the selection or grouping is invalid.
            OpenError: no trace can be read.
        """
        check_group_by(self.tables.values(), subject.selection.group_by)
        try:
            wanted: list[WantedTrace] = []
            if self._needs_traces():
                wanted += [(file, "trace") for file in files]
            opened, failed = open_what_fits(catalog, wanted, wait_s) if wanted else ([], [])
            if failed and not opened:
                raise failed[0][1]
            with scratch_folder() as folder:
                exporter = Exporter(catalog, self.statement, folder, subject, wait_s)
                tables = exporter.write(self.tables, files, opened)
                notes = [*(left_out_note(file, error) for file, error in failed), *exporter.notes]
                with query_process(self.is_cancelled) as process:
                    rows = process.call(
                        self.limits,
                        self.is_cancelled,
                        engine_calls.compute_answer,
                        self.text,
                        tables,
                        self.limits,
                    )
        finally:
            catalog.store.enforce_limit()
        notes += selection_notes(self.tables.values(), subject)
        if rows.is_cut:
            notes.append(cut_note(self.limits))
        return answer_result(self.shape, rows, self.tables, subject, notes)

    def _needs_traces(self) -> bool:
        return any(
            isinstance(table.source, RawTable) or table.source.scope == "trace"
            for table in self.tables.values()
        )


def prepare_query(
    text: str, limits: SqlLimits, is_cancelled: IsCancelled = not_cancelled
) -> PreparedQuery:
    """Read a query and check it against the tables, before any trace is opened.

    Raises:
        RequestError: it is no SELECT, refers to something that is not there, is malformed or too
            long; or DuckDB is not installed.
        UnknownError: there is no table of a name.
    """
    _check_text(text)
    with query_process(is_cancelled) as process:
        statement = process.call(limits, is_cancelled, engine_calls.read_statement, text)
        tables, hidden = _resolved(statement)
        shape = process.call(
            limits,
            is_cancelled,
            engine_calls.check_statement,
            text,
            _shapes(tables),
            _shapes(hidden),
            limits,
        )
    if shape.uses_hidden:
        tables |= hidden
    return PreparedQuery(text, limits, statement, tables, shape, is_cancelled)


def missing_package() -> LoadingError | None:
    """Why there is no SQL; None where DuckDB is installed."""
    if find_spec("duckdb") is not None:
        return None
    return RequestError("missing_package", "SQL needs DuckDB, which is not installed.", EXTRA_HINT)


def _check_text(text: str) -> None:
    missing = missing_package()
    if missing is not None:
        raise missing
    if len(text) > MAX_TEXT:
        message = f"The query has {len(text):,} characters; {MAX_TEXT:,} are possible."
        raise RequestError("sql_text", message, "Replace lists of values by a join or a condition.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError("sql_text", "The query is no valid text.") from None
    if "\0" in text:
        raise RequestError("sql_text", "The query contains a NUL character.")


def _resolved(
    statement: Statement,
) -> tuple[dict[TablePath, SqlTable], dict[TablePath, SqlTable]]:
    """The tables that a query names, and those of names that it also defines itself."""
    tables: dict[TablePath, SqlTable] = {}
    hidden: dict[TablePath, SqlTable] = {}
    for path in statement.tables:
        if len(path) == 1 and path[0] in statement.defined:
            try:
                hidden[path] = resolve_table(path)
            except (UnknownError, RequestError):
                continue
        else:
            tables[path] = resolve_table(path)
    return tables, hidden


def _shapes(tables: Mapping[TablePath, SqlTable]) -> list[TableShape]:
    return [
        TableShape(path, tuple((column.key, column.type) for column in table.spec.columns))
        for path, table in tables.items()
    ]
