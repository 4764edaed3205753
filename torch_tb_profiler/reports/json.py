"""A view as JSON: the one answer of the HTTP server and of ``report --format json``.

Shape: :mod:`torch_tb_profiler.reports.payloads`. Numbers that JSON cannot write (NaN, infinities)
are null; text that UTF-8 cannot write (lone surrogates of a file name) gets "?".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.reports.payloads import (
    ColumnPayload,
    FactPayload,
    LinePayload,
    NotePayload,
    SelectionPayload,
    SeriesPayload,
    TablePayload,
    TraceRef,
    TreePayload,
    ViewAnswer,
)
from torch_tb_profiler.views.schema import Column, Fact, Note, Series, Table, View
from torch_tb_profiler.views.spec import ViewSpec

SCHEMA_VERSION = 1
"""Version of the shape of every JSON answer. It grows when a key changes its meaning or goes."""

NS_PER_US = 1000


def payload(spec: ViewSpec, view: View, trace_ref: TraceRef, selection: Selection) -> ViewAnswer:
    """The answer of one view, ready for :func:`dumps`.

    Args:
        spec: The declaration of the view.
        view: What it answered.
        trace_ref: Which trace; for a pair view the candidate, with its ``baseline``.
        selection: What was asked for; the candidate's for a pair view.
    """
    return ViewAnswer(
        schema_version=SCHEMA_VERSION,
        view=spec.name,
        title=spec.title,
        group_bys=list(spec.group_bys),
        trace=trace_ref,
        selection=selection_payload(selection, spec),
        tables={name: _table(table) for name, table in view.tables.items()},
        series={name: _series(series) for name, series in view.series.items()},
        facts=[_fact(fact) for fact in view.facts],
        notes=[_note(note) for note in view.notes],
    )


def selection_payload(selection: Selection, spec: ViewSpec | None = None) -> SelectionPayload:
    """The selection with times in µs, and the group-by that ``spec`` uses when none was chosen."""
    default = spec.group_bys[0] if spec is not None and spec.group_bys else None
    return SelectionPayload(
        steps=selection.steps,
        start_us=_us(selection.start_ns),
        end_us=_us(selection.end_ns),
        group_by=selection.group_by or default,
    )


def dumps(answer: Mapping[str, Any] | list[ViewAnswer]) -> bytes:
    """The answer as compact UTF-8 JSON without a line end."""
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(answer))


def finite(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with null for every NaN and infinity."""
    numbers = pl.col(pl.Float64)
    return frame.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())


def _us(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_US


def _table(table: Table) -> TablePayload:
    spec = table.spec
    return TablePayload(
        title=spec.title,
        help=spec.help,
        columns=[_column(column) for column in spec.columns],
        rows=finite(table.frame).rows(),
        row_count=table.frame.height if table.row_count is None else table.row_count,
        null_reasons=table.null_reasons,
        sort=spec.sort,
        tree=None if spec.tree is None else TreePayload(id=spec.tree[0], parent=spec.tree[1]),
    )


def _column(column: Column) -> ColumnPayload:
    return ColumnPayload(
        key=column.key,
        title=column.title,
        type=column.type,
        unit=column.unit,
        help=column.help,
        estimated=column.estimated,
    )


def _series(series: Series) -> SeriesPayload:
    return SeriesPayload(
        title=series.title,
        kind=series.kind,
        x_title=series.x_title,
        x_unit=series.x_unit,
        y_title=series.y_title,
        y_unit=series.y_unit,
        lines=[LinePayload(name=line.name, x=line.x, y=line.y) for line in series.lines],
    )


def _fact(fact: Fact) -> FactPayload:
    return FactPayload(
        key=fact.key,
        title=fact.title,
        value=fact.value,
        unit=fact.unit,
        scope=fact.scope,
        help=fact.help,
        reason=fact.reason,
    )


def _note(note: Note) -> NotePayload:
    return NotePayload(
        kind=note.kind,
        code=note.code,
        severity=note.severity,
        text=note.text,
        evidence=note.evidence,
    )


def _without_surrogates(value: Any) -> Any:
    """A copy of a JSON-ready value whose texts UTF-8 can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
