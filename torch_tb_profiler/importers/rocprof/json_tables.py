"""Columns of JSON records → the tables of a recording: numbers become texts and agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.distinct import distinct, distinct_rows
from torch_tb_profiler.importers.rocprof.copies import classify_copies
from torch_tb_profiler.importers.rocprof.json_names import JsonNames
from torch_tb_profiler.importers.rocprof.recording import DISPATCH, ProcessRecording
from torch_tb_profiler.importers.rocprof.vocabulary import (
    MARKERS,
    RELEASES,
    call_category,
    event_type,
    is_other_library,
    library_name,
)
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.constant_columns import constant
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.quality import QualityReport

Columns = Mapping[str, Int64]


class JsonContext(Struct, frozen=True):
    """A recording that is being filled, and what its numbers mean."""

    recording: ProcessRecording
    names: JsonNames
    texts: TextCodes
    quality: QualityReport


def join(parts: Sequence[Columns]) -> dict[str, Int64]:
    """The columns of all parts, which have the same ones; no columns if there is no part."""
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def with_counted(dispatches: Columns, counted: Columns) -> Columns:
    """The dispatches, with those that only a table of counters has; each of these once."""
    if not counted:
        return dispatches
    known = dispatches["dispatch"] if dispatches else np.empty(0, np.int64)
    _, first = np.unique(counted["dispatch"], return_index=True)
    is_new = np.zeros(len(counted["dispatch"]), np.bool_)
    is_new[first] = True
    is_new |= counted["dispatch"] == ABSENT
    is_new &= ~np.isin(counted["dispatch"], known)
    added = {name: values[is_new] for name, values in counted.items()}
    return join([dispatches, added]) if dispatches else added


def add_dispatches(context: JsonContext, columns: Columns) -> None:
    """Add dispatches; the ids of ranges become codes of their texts."""
    if not columns:
        return
    renamed = np.where(columns["region"] > 0, columns["region"], columns["external"])
    region = _codes(context, renamed, context.names.externals.get)
    rows = {name: columns[name] for name in DISPATCH if name in columns}
    rows["region"] = region
    rows["external"] = np.where(region < 0, columns["external"], ABSENT)
    size = len(region)
    context.recording.add("dispatches", size, **rows, pid=_pids(context, size))


def add_copies(context: JsonContext, columns: Columns) -> None:
    """Add copies; their agents, else their operations, have the direction."""
    if not columns:
        return
    known, operation = distinct_rows(columns["kind"], columns["operation"])
    operations = [context.names.operation(*pair) for pair in _pairs(known)]
    name, agent = classify_copies(
        context.recording.agents,
        columns["source"],
        columns["target"],
        operation,
        operations=operations,
        texts=context.texts,
    )
    size = len(name)
    context.recording.add(
        "operations",
        size,
        pid=_pids(context, size),
        category=constant(int(Category.MEMCPY), size, np.int64),
        name=name,
        agent=agent,
        **{
            name: columns[name]
            for name in ("thread", "stream", "bytes", "correlation", "start", "end")
        },
    )


def add_calls(context: JsonContext, columns: Columns) -> None:
    """Add calls of libraries, and the ranges and marks of ROCTx."""
    if not columns:
        return
    known, inverse = distinct_rows(columns["kind"], columns["operation"])
    category, kind_code, name_code, marker = [], [], [], []
    for number, operation in _pairs(known):
        kind = context.names.kinds.get(number, "")
        name = context.names.operation(number, operation)
        marks = event_type(name) if MARKERS.fullmatch(kind) else None
        category.append(int(call_category(kind)))
        kind_code.append(context.texts.code(library_name(kind)))
        name_code.append(context.texts.code(name))
        marker.append(-1 if marks is None else marks)
    by_row = {
        "category": np.array(category, np.int64)[inverse],
        "kind": np.array(kind_code, np.int64)[inverse],
        "name": np.array(name_code, np.int64)[inverse],
        "event_type": np.array(marker, np.int64)[inverse],
    }
    is_marker = by_row["event_type"] >= 0
    is_other = [is_other_library(context.names.kinds.get(each, "")) for each in known[0].tolist()]
    others = int(np.array(is_other, np.bool_)[inverse].sum())
    context.quality.add("unknown_category", others)
    _add_rows(
        context,
        "calls",
        np.flatnonzero(~is_marker),
        {**columns, **by_row},
        ("thread", "category", "kind", "name", "correlation", "start", "end"),
    )
    text = _codes(context, columns["correlation"][is_marker], context.names.markers.get)
    markers = {name: values[is_marker] for name, values in {**columns, **by_row}.items()}
    markers["text"] = np.where(text < 0, markers["name"], text)
    rows = np.arange(len(text))
    _add_rows(context, "markers", rows, markers, ("thread", "event_type", "text", "start", "end"))


def add_allocations(context: JsonContext, columns: Columns) -> None:
    """Add allocations and releases."""
    if not columns:
        return
    known, inverse = distinct_rows(columns["kind"], columns["operation"])
    is_release = [
        RELEASES.fullmatch(context.names.operation(*pair)) is not None for pair in _pairs(known)
    ]
    context.recording.add(
        "allocations",
        len(inverse),
        pid=_pids(context, len(inverse)),
        is_release=np.array(is_release, np.int64)[inverse],
        time=columns["start"],
        **{name: columns[name] for name in ("thread", "agent", "address", "bytes")},
    )


def first_records(dispatch: Int64, record: Int64, counter: Int64) -> Int64:
    """The values of each dispatch's counters that are in the first record with that counter: a
    dispatch that was replayed in several passes may have it again."""
    _, pair = dense_pair_ids(dispatch, counter)
    _, first = np.unique(pair, return_index=True)
    return np.flatnonzero(record == record[first][pair])


def add_counters(
    context: JsonContext,
    dispatch: Int64,
    counter: Int64,
    value: Float64,
    names: Mapping[int, str],
) -> None:
    """Add values of counters."""
    known, inverse = distinct(counter)
    texts = [names.get(each) or f"counter {each}" for each in known.tolist()]
    key = context.texts.codes(texts).astype(np.int64)[inverse]
    context.recording.add("counters", len(value), dispatch=dispatch, key=key, value=value)


def _add_rows(
    context: JsonContext, table: str, rows: Int64, columns: Columns, names: tuple[str, ...]
) -> None:
    context.recording.add(
        table,
        len(rows),
        pid=_pids(context, len(rows)),
        **{name: columns[name][rows] for name in names},
    )


def _pairs(columns: Sequence[Int64]) -> list[tuple[int, int]]:
    first, second = (column.tolist() for column in columns)
    return list(zip(first, second, strict=True))


def _codes(context: JsonContext, numbers: Int64, text: Callable[[int], str | None]) -> Int64:
    """Per number the code of its text, -1 if it has none."""
    known, inverse = distinct(numbers)
    return context.texts.codes(map(text, known.tolist())).astype(np.int64)[inverse]


def _pids(context: JsonContext, size: int) -> Int64:
    return constant(context.recording.pid, size, np.int64)
