"""The parts of a view: tables with declared columns, series, facts and notes.

A column is declared once, here in Python; the JSON, the CSV header, the Markdown, the
TypeScript types, the tooltips of the pages and ``docs/columns.md`` are made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec
import polars as pl

from torch_tb_profiler.once import set_up

if TYPE_CHECKING:
    from torch_tb_profiler.trace.model import Trace
    from torch_tb_profiler.views.filling import Rows

ColumnType = Literal["string", "integer", "number", "boolean"]
Unit = Literal["us", "ns", "bytes", "pct", "count", "ratio", "gb_per_s", "per_s", "flops"]
Severity = Literal["info", "warning"]
NoteKind = Literal["advice", "quality"]
SeriesKind = Literal["line", "stair", "bar", "stacked_bar"]
Scalar = str | int | float | bool | None

Value = Callable[["Rows"], pl.Series]
"""Computes the values of a column from the rows of its table (``views.filling``)."""

POLARS_TYPES: dict[str, type[pl.DataType]] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
}
"""Column type → dtype its values have in a table's frame."""


class Grouping(msgspec.Struct, frozen=True):
    """A choice of ``group_by``.

    Attributes:
        group_by: The value of the parameter.
        label: What the rows are grouped by, for people.
    """

    group_by: str
    label: str


class Column(msgspec.Struct, frozen=True, eq=False):
    """One column of a table.

    Attributes:
        key: Stable name; its unit stands in it (``_us``, ``_ns``, ``_bytes``, ``_pct``).
        title: Header for people, without the unit.
        type: Type of the values; every value may also be null.
        unit: Unit of the values, or None.
        help: What it means and how it is counted, in one or two sentences.
        estimated: True when the number is an estimate; pages mark it ``est.``.
        family: Name of a group of measures that are compared with each other (min and max, self and
            total) and therefore share one multiple of their unit; None for no group.
        hidden: True when pages, terminal and Markdown show it only on request.
        additive: True when the values of different rows add up: a footer may show their sum.
        value: Computes the values of a table that ``views.filling`` fills; None takes the column of
            the same key.
        null_reason: Why values may be null, as text or from the trace; None where a null means that
            the column does not apply to the row.
        only_grouped: The one grouping with which the column has values.
    """

    key: str
    title: str
    type: ColumnType
    unit: Unit | None
    help: str
    estimated: bool = False
    family: str | None = None
    hidden: bool = False
    additive: bool = False
    value: Value | None = None
    null_reason: str | Callable[[Trace], str] | None = None
    only_grouped: Grouping | None = None

    def payload(self) -> ColumnPayload:
        """The declaration of the column in JSON."""
        return msgspec.convert(self, set_up(ColumnPayload), from_attributes=True)


class ColumnPayload(msgspec.Struct, frozen=True):
    """The declaration of a column in JSON: what pages need of :class:`Column`."""

    key: str
    title: str
    type: ColumnType
    unit: Unit | None
    help: str
    estimated: bool
    family: str | None
    hidden: bool
    additive: bool


class TableSpec(msgspec.Struct, frozen=True):
    """The declaration of one table.

    Attributes:
        name: Stable name, key in ``View.tables``.
        title: Heading for people.
        help: What one row is.
        columns: Its columns, in order; keys are unique.
        sort: Default order in the grammar of the ``sort`` parameter, ``"-device_self_us,name"``.
        tree: ``(id column, parent column)`` when rows make a tree, else None.
        is_summary: True when it only complements the view's first table, for example as its sums:
            CSV holds one table, the first one unless this one is named.
        when_empty: Why it may have no rows, for people.
        two_sided: True when it has times of host and device (``cpu_…``, ``gpu_…``) that do not fit
            next to each other on a terminal, which prints two tables instead.
    """

    name: str
    title: str
    help: str
    columns: tuple[Column, ...]
    sort: str = ""
    tree: tuple[str, str] | None = None
    is_summary: bool = False
    when_empty: str = "No data in this selection."
    two_sided: bool = False

    def polars_schema(self) -> dict[str, type[pl.DataType]]:
        """Column key → polars dtype, in order."""
        return {column.key: POLARS_TYPES[column.type] for column in self.columns}


class ColumnSum(msgspec.Struct, frozen=True):
    """The sum of an additive column.

    Attributes:
        shown: Over the rows that pass the filter, also those beyond ``limit``; None where no
            value is known.
        all: Over all rows likewise.
        shown_nulls: Rows that pass the filter and whose value is not known: they are in no sum.
    """

    shown: int | float | None
    all: int | float | None
    shown_nulls: int


class Table(msgspec.Struct, frozen=True):
    """A filled table.

    Attributes:
        spec: Its declaration.
        frame: One polars column per declared column, same order and dtypes.
        null_reasons: Column key → why its nulls are null. A column whose nulls have no reason
            simply does not apply to those rows.
        row_count: Rows after ``filter``, before ``offset`` and ``limit``; None means all are here.
        filtered_out: True when there were rows and none passed the filter.
        sums: Column key → sum of a column whose values add up; None until the table was queried.
        all_rows: Computes all rows if ``frame`` holds only the first ones: called when the table
            itself is requested (``views.querying.complete``).
    """

    spec: TableSpec
    frame: pl.DataFrame
    null_reasons: dict[str, str] = msgspec.field(default_factory=dict)
    row_count: int | None = None
    filtered_out: bool = False
    sums: dict[str, ColumnSum] | None = None
    all_rows: Callable[[], Table] | None = None

    @property
    def why_empty(self) -> str | None:
        """Why it has no rows, for people; None where it has some."""
        if self.row_count or (self.row_count is None and self.frame.height):
            return None
        return NONE_PASSED if self.filtered_out else self.spec.when_empty


NONE_PASSED = "No row matches the filter."


class Fact(msgspec.Struct, frozen=True):
    """One number with its meaning, such as the utilization of GPU 0.

    Attributes:
        key: Stable name with the unit in it.
        title: For people.
        value: The value; None when it cannot be known.
        unit: As in :class:`Column`.
        scope: What it is about (``"GPU 0"``, ``"worker0"``), or None for the whole trace.
        help: What it means and how it is counted.
        reason: Why ``value`` is None, else None.
    """

    key: str
    title: str
    value: Scalar
    unit: Unit | None
    scope: str | None
    help: str
    reason: str | None = None


class Note(msgspec.Struct, frozen=True):
    """A sentence that belongs to the numbers: advice, or a limit of their quality.

    Attributes:
        kind: ``advice`` or ``quality``.
        code: Stable name of the detector or of the quality issue.
        severity: ``warning`` when numbers or speed suffer, else ``info``.
        text: Plain text (never markup); may quote text of the trace.
        evidence: JSON-ready values behind it: counts, measured value, threshold, gain, rows.
    """

    kind: NoteKind
    code: str
    severity: Severity
    text: str
    evidence: dict[str, object] = msgspec.field(default_factory=dict)


class Line(msgspec.Struct, frozen=True):
    """One named line of a series; ``x`` and ``y`` have equal length, null ``y`` breaks the line."""

    name: str
    x: list[float]
    y: list[float | None]


class Series(msgspec.Struct, frozen=True):
    """Data of one chart.

    Attributes:
        title: Heading for people.
        kind: How it is drawn by default; ``stair`` holds each value until the next.
        x_title, x_unit, y_title, y_unit: Axes.
        lines: What is drawn.
    """

    title: str
    kind: SeriesKind
    x_title: str
    x_unit: Unit | None
    y_title: str
    y_unit: Unit | None
    lines: tuple[Line, ...]


class View(msgspec.Struct, frozen=True):
    """The answer of a view function.

    Attributes:
        tables, series: Keyed by their stable names.
        findings_pending: True if it has findings that were not computed.
        answer: One or two sentences that answer the view's question for a person; plain text that
            may quote names of the trace. None where there is nothing to say.
    """

    tables: dict[str, Table] = msgspec.field(default_factory=dict)
    series: dict[str, Series] = msgspec.field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    findings_pending: bool = False
    answer: str | None = None
