"""Every table that a query can name: those of views, and the raw ones.

A table is named by its schema, which is its view or ``raw``, and its name. The name alone is the
table of the view of that name, else the raw table, else the only table of a view.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.once import once
from torch_tb_profiler.requests.errors import RequestError, UnknownError, unknown
from torch_tb_profiler.sql.raw import of_recordings, of_slices, of_times
from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.statement import TablePath
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.spec import ViewSpec

RAW = "raw"
"""The schema of the raw tables."""

RAW_TABLES: tuple[RawTable, ...] = (
    of_slices.SLICES,
    of_slices.DEVICE_WORK,
    of_slices.OPERATORS,
    of_slices.COLLECTIVES,
    of_times.FLOWS,
    of_times.COUNTERS,
    of_times.SAMPLES,
    of_times.MEMORY,
    of_times.INSTANTS,
    of_recordings.RECORDINGS,
    of_recordings.STEPS,
    of_recordings.DEVICES,
    of_recordings.TRACKS,
    of_recordings.ARGUMENTS,
)

IDENTITY = (
    Column("run", "Run", "string", None, "Run of the recording."),
    Column("worker", "Worker", "string", None, "Worker of the run; null in views of a whole run."),
    Column("span", "Span", "string", None, "Span of the worker: which of its recordings."),
)
"""Columns that every table begins with, unless it has one of the name."""


class SqlTable(Struct, frozen=True):
    """A table of queries.

    Attributes:
        schema: ``raw``, or the name of its view.
        spec: Its declaration, with the columns of :data:`IDENTITY`.
        source: The view, or the raw table.
    """

    schema: str
    spec: TableSpec
    source: ViewSpec | RawTable

    @property
    def name(self) -> str:
        """The name that is always unambiguous."""
        return f"{self.schema}.{self.spec.name}"


@once
def all_tables() -> dict[str, SqlTable]:
    """Every table by its name with its schema, the raw ones first. Views of two recordings have
    none here."""
    tables = [SqlTable(RAW, _with_identity(raw.spec), raw) for raw in RAW_TABLES]
    tables += [
        SqlTable(view.name, _with_identity(spec), view)
        for view in all_views().values()
        if view.scope != "pair"
        for spec in view.tables
    ]
    return {table.name: table for table in tables}


def short_name(table: SqlTable) -> str | None:
    """The name without schema, if it means this table."""
    try:
        return table.spec.name if resolve_table((table.spec.name,)) is table else None
    except RequestError:
        return None


def resolve_table(path: TablePath) -> SqlTable:
    """The table that a name means.

    Raises:
        UnknownError: there is none.
        RequestError: several views have one of this name.
    """
    tables = all_tables()
    shown = ".".join(path)
    name = shown.lower()
    if len(path) == 1:
        candidates = [f"{name}.{name}", f"{RAW}.{name}"]
        matches = [each for each in candidates if each in tables][:1]
        matches = matches or [key for key, table in tables.items() if table.spec.name == name]
        if len(matches) > 1:
            hint = f"Write {' or '.join(matches)}."
            raise RequestError("sql_ambiguous", f"Several views have a table {name!r}.", hint)
        if matches:
            return tables[matches[0]]
    elif name in tables:
        return tables[name]
    return _raise_unknown(shown, len(path) == 1)


def table_named(name: str) -> SqlTable:
    """The table of a name as people write it: with or without its schema.

    Raises:
        UnknownError, RequestError: as :func:`resolve_table`.
    """
    return resolve_table(tuple(name.strip().split(".")))


def _raise_unknown(name: str, is_short: bool) -> SqlTable:
    known = list(all_tables())
    if is_short:
        known = list(dict.fromkeys(key.partition(".")[2] for key in known))
    error: UnknownError = unknown("table", name, known)
    raise error


def _with_identity(spec: TableSpec) -> TableSpec:
    keys = {column.key for column in spec.columns}
    identity = tuple(column for column in IDENTITY if column.key not in keys)
    return replace(spec, columns=(*identity, *spec.columns))
