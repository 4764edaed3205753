"""Calls, ranges, marks and sampled values of a rocpd database."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.nvtx import MARK, PUSH_POP, factorize
from torch_tb_profiler.importers.rocprof.rocpd_events import RocpdContext, select
from torch_tb_profiler.importers.rocprof.rocpd_tables import Lookup, TableRows, TextLookup
from torch_tb_profiler.importers.rocprof.vocabulary import (
    MARKERS,
    call_category,
    event_type,
    is_other_library,
    library_name,
)
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64

NOT_READ = "samples without a value"
FUNCTION = "roctx"
"""Beginning of the names of ROCTx's functions."""


class _Document(msgspec.Struct):
    """What belongs to the call of a function of ROCTx."""

    message: Any = None


_DOCUMENT = msgspec.json.Decoder(_Document)


def add_regions(context: RocpdContext) -> None:
    """Add regions of threads: calls of libraries, and ranges of ROCTx."""
    rows = context.tables["region"]
    if not len(rows):
        return
    events = context.events.of_rows(rows)
    located = context.events.located(rows)
    names, position = context.strings.distinct(rows.ints("name_id")["name_id"])
    kinds, kind = context.categories(events["category_id"])
    is_marker = np.array([MARKERS.fullmatch(each) is not None for each in kinds], np.bool_)[kind]
    types = np.array([_event_type(text or "") for text in names], np.int64)[position]
    is_marker &= types >= 0
    name = context.texts.codes(text or None for text in names).astype(np.int64)[position]
    start, end = (context.events.times(rows, column) for column in ("start", "end"))
    calls = {
        "pid": located["pid"],
        "thread": located["thread"],
        "category": np.array([int(call_category(each)) for each in kinds], np.int64)[kind],
        "kind": context.texts.codes(map(library_name, kinds)).astype(np.int64)[kind],
        "name": name,
        "correlation": events["stack_id"],
        "start": start,
        "end": end,
    }
    is_other = np.array([is_other_library(each) for each in kinds], np.bool_)[kind]
    context.quality.add("unknown_category", int(is_other.sum()))
    chosen = np.flatnonzero(~is_marker)
    context.recording.add("calls", len(chosen), **select(calls, chosen))
    markers = {
        "pid": located["pid"],
        "thread": located["thread"],
        "event_type": types,
        "text": name,
        "start": start,
        "end": end,
    }
    _add_markers(context, markers, np.flatnonzero(is_marker), events["row"])


def _event_type(name: str) -> int:
    """The kind of range or mark that a region of ROCTx is, -1 for another call. Some recorders
    write the message in place of the function's name: that is a range."""
    known = event_type(name)
    if known is not None:
        return known
    return -1 if name.startswith(FUNCTION) else PUSH_POP[0]


def add_samples(context: RocpdContext) -> None:
    """Add samples: marks of ROCTx, and sampled values of counters. Others are counted."""
    rows = context.tables["sample"]
    if not len(rows):
        return
    events = context.events.of_rows(rows)
    located = context.events.located(rows)
    kinds, kind = context.categories(events["category_id"])
    is_marker = np.array([MARKERS.fullmatch(each) is not None for each in kinds], np.bool_)[kind]
    time = context.events.times(rows, "timestamp")
    own_name = rows.ints("name_id")["name_id"]
    markers = {
        "pid": located["pid"],
        "thread": located["thread"],
        "event_type": np.full(len(rows), MARK[0]),
        "text": context.codes(np.where(own_name < 0, located["name"], own_name)),
        "start": time,
        "end": time,
    }
    _add_markers(context, markers, np.flatnonzero(is_marker), events["row"])
    has_value = _add_values(context, rows, time)
    context.quality.add("rocprof_not_read", int((~is_marker & ~has_value).sum()), NOT_READ)


def _add_markers(
    context: RocpdContext, markers: dict[str, Int64], chosen: Int64, event_rows: Int64
) -> None:
    """Add some of the markers, with the message of their event in place of the function's name."""
    if not len(chosen):
        return
    markers = select(markers, chosen)
    documents = context.events.extdata(event_rows[chosen])
    codes = context.texts.codes(_messages(documents)).astype(np.int64)
    markers["text"] = np.where(codes < 0, markers["text"], codes)
    context.recording.add("markers", len(chosen), **markers)


def _messages(documents: pl.Series) -> list[str | None]:
    """The messages in documents; None in those without one, and in damaged ones."""
    known, position = factorize(documents)
    messages = [_message(text) for text in known.to_list()]
    return [messages[each] for each in position.tolist()]


def _message(document: str | None) -> str | None:
    try:
        message = _DOCUMENT.decode(document or "{}").message
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return message if isinstance(message, str) and message else None


def _add_values(context: RocpdContext, rows: TableRows, time: Int64) -> Bools:
    """Add the sampled values of counters; returns per sample whether it has one."""
    values = context.tables["pmc_event"]
    own = values.ints("event_id", "pmc_id")
    sample = Lookup(rows.ints("event_id")["event_id"]).rows(own["event_id"])
    sample[own["event_id"] == ABSENT] = -1
    chosen = np.flatnonzero(sample >= 0)
    infos = context.tables["info_pmc"]
    described = infos.ints("id", "agent_id")
    pmc = own["pmc_id"][chosen]
    metric, unit = (
        _codes(context, TextLookup(described["id"], infos.texts(column)), pmc)
        for column in ("name", "units")
    )
    context.recording.add(
        "samples",
        len(chosen),
        agent=Lookup(described["id"]).values(pmc, described["agent_id"]),
        metric=metric,
        unit=unit,
        time=time[sample[chosen]],
        value=values.floats("value")[chosen],
    )
    has_value: Bools = np.zeros(len(rows), np.bool_)
    has_value[sample[chosen]] = True
    return has_value


def _codes(context: RocpdContext, lookup: TextLookup, ids: Int64) -> Int64:
    texts, inverse = lookup.distinct(ids)
    return context.texts.codes(text or "" for text in texts).astype(np.int64)[inverse]
