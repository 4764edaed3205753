"""The answers about views: which there are, and one filled view with what it is about.

The parts of a view (columns, facts, notes, lines) are encoded as ``views.schema`` declares them; a
table is put together here, of its declaration and its rows.
"""

from __future__ import annotations

import gc
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.knowledge.documentation import (
    evidence_address,
    finding_address,
    table_address,
)
from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.parameters import SELECTION_TEXTS
from torch_tb_profiler.views.querying import column_sums
from torch_tb_profiler.views.registry import all_parameters, all_views
from torch_tb_profiler.views.schema import (
    ColumnPayload,
    ColumnSum,
    Fact,
    Note,
    Scalar,
    Series,
    Table,
    View,
)
from torch_tb_profiler.views.spec import Scope, ViewSpec

LONG_TABLE = 20_000
"""Rows from which on a table's rows are made without Python's collector."""


class ViewEntryPayload(msgspec.Struct, frozen=True):
    """One view, and why a trace does not have it, or not some of its groupings."""

    name: str
    title: str
    help: str
    scope: Scope
    available: bool
    reason: str | None
    group_bys: tuple[str, ...]
    missing_group_bys: dict[str, str]


class ViewsAnswer(Answer, kw_only=True):
    """``/views``: the views of a trace, and the name of the one to show first."""

    views: list[ViewEntryPayload]
    first_view: str


class TreePayload(msgspec.Struct, frozen=True):
    """Which columns make the rows of a table a tree."""

    id: str
    parent: str


class TablePayload(msgspec.Struct, frozen=True):
    """One table: rows are arrays in the order of the columns; ``sums`` are those of the columns
    whose values add up, left out where there is none. ``help_url`` is where the documentation
    describes it, and with a dot and a key one of its columns; null for a table that it lacks."""

    title: str
    help: str
    columns: list[ColumnPayload]
    rows: list[tuple[Scalar, ...]]
    row_count: int
    null_reasons: dict[str, str]
    why_empty: str | None
    sort: str
    tree: TreePayload | None
    help_url: str | None
    sums: dict[str, ColumnSum] | msgspec.UnsetType = msgspec.UNSET


SelectionPayload = dict[str, str | Decimal | None]
"""What part of the trace was looked at, and what else was asked: the keys of the selection, and of
every parameter that a view declares (``views.parameters``); null for what was not given."""


class BaselineRef(msgspec.Struct, frozen=True):
    """Which trace a pair view compares with, or has as a third side."""

    run: str
    worker: str
    span: str
    selection: SelectionPayload


class TraceRef(msgspec.Struct, frozen=True):
    """Which trace was looked at; ``worker`` is null in views of a whole run."""

    run: str
    worker: str | None
    span: str
    baseline: BaselineRef | msgspec.UnsetType = msgspec.UNSET
    third: BaselineRef | msgspec.UnsetType = msgspec.UNSET


class ViewAnswer(Answer, kw_only=True):
    """``/view/<name>``: a view. ``answer`` is a sentence that answers its question, or null;
    ``findings_pending`` is there, and true, where its findings are still to be asked for."""

    view: str
    title: str
    group_bys: tuple[str, ...]
    trace: TraceRef
    selection: SelectionPayload
    answer: str | None
    tables: dict[str, TablePayload]
    series: dict[str, Series]
    facts: tuple[Fact, ...]
    notes: tuple[Note, ...]
    findings_pending: bool | msgspec.UnsetType = msgspec.UNSET


class ViewResult(msgspec.Struct, frozen=True):
    """A view with what it is about: the names that were found, and the selections asked for.

    Attributes:
        spec: Declaration of the view.
        view: What it says.
        subject: What it is about; its worker is None for run views.
        baseline: What a pair view compares with, else None.
        third: The third side of a pair view, if it has one.
    """

    spec: ViewSpec
    view: View
    subject: Subject
    baseline: Subject | None = None
    third: Subject | None = None


def view_answer(result: ViewResult) -> ViewAnswer:
    """A view as it is answered: by ``/view/<name>``, ``report --format json`` and the API."""
    spec, view = result.spec, result.view
    return ViewAnswer(
        view=spec.name,
        title=spec.title,
        group_bys=spec.group_bys,
        trace=_trace_ref(result),
        selection=selection_payload(result.subject, spec),
        answer=view.answer,
        tables={
            name: table_payload(table, _table_address(spec, name))
            for name, table in view.tables.items()
        },
        series=view.series,
        facts=view.facts,
        notes=tuple(map(_with_address, view.notes)),
        findings_pending=view.findings_pending or msgspec.UNSET,
    )


def _table_address(spec: ViewSpec, table: str) -> str | None:
    """Where a table is described; None for those of a query, which nobody declared."""
    is_documented = spec.name in all_views() and any(each.name == table for each in spec.tables)
    return table_address(spec.name, table) if is_documented else None


def _with_address(note: Note) -> Note:
    """A finding with the key ``help_url`` in its evidence and the table of its rows, where the
    documentation has them."""
    address = finding_address(note.code) if note.kind == "advice" else None
    if address is None:
        return note
    evidence = {**note.evidence, "help_url": address}
    if isinstance(table := evidence.get("table"), dict):
        evidence["table"] = {**table, "help_url": evidence_address(note.code)}
    return replace(note, evidence=evidence)


def table_payload(table: Table, help_url: str | None = None) -> TablePayload:
    """One table with its declaration, and the address of its documentation."""
    spec = table.spec
    sums = column_sums(table, table.frame) if table.sums is None else table.sums
    return TablePayload(
        title=spec.title,
        help=spec.help,
        columns=[column.payload() for column in spec.columns],
        rows=_rows(table.frame),
        row_count=table.frame.height if table.row_count is None else table.row_count,
        null_reasons=table.null_reasons,
        why_empty=table.why_empty,
        sort=spec.sort,
        tree=None if spec.tree is None else TreePayload(*spec.tree),
        help_url=help_url,
        sums=sums or msgspec.UNSET,
    )


def _rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a table. Each is an object that Python's collector looks at again and again while
    more are made, a third of the time of a long table; rows hold nothing that it could free."""
    if frame.height < LONG_TABLE or not gc.isenabled():
        return frame.rows()
    gc.disable()
    try:
        return frame.rows()
    finally:
        gc.enable()


def selection_payload(subject: Subject, spec: ViewSpec) -> SelectionPayload:
    """The selection with times in µs, and the group-by that ``spec`` uses when none was chosen."""
    selection = subject.selection
    default = spec.group_bys[0] if spec.group_bys else None
    return {
        **{each.key: getattr(selection, each.key) for each in SELECTION_TEXTS},
        "start_us": _microseconds(selection.start_ns),
        "end_us": _microseconds(selection.end_ns),
        "group_by": selection.group_by or default,
        **{key: subject.parameters.get(key) for key in all_parameters()},
    }


def _trace_ref(result: ViewResult) -> TraceRef:
    subject = result.subject
    others = (_side_ref(each, result.spec) for each in (result.baseline, result.third))
    return TraceRef(subject.run or "", subject.worker, subject.span or "", *others)


def _side_ref(side: Subject | None, spec: ViewSpec) -> BaselineRef | msgspec.UnsetType:
    if side is None:
        return msgspec.UNSET
    return BaselineRef(
        run=side.run or "",
        worker=side.worker or "",
        span=side.span or "",
        selection=selection_payload(side, spec),
    )


def _microseconds(time_ns: int | None) -> Decimal | None:
    """Exact also of times since the epoch, of which a float holds quarters of a µs."""
    return None if time_ns is None else Decimal(time_ns) / NS_PER_US
