"""Hand-built traces of other recorders: with samples, side tables and reasons of their own. Events
are those of :mod:`tests.helpers.traces`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from msgspec import structs

from tests.helpers.traces import Event, columns
from torch_tb_profiler.importers.slice_arguments import ArgumentRows
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import SAMPLE_COLUMNS, EventColumns
from torch_tb_profiler.trace.info import Capability, NotRecorded
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable


class Sample(NamedTuple):
    """A sample at ``ts`` µs."""

    source: str
    metric: str
    unit: str
    ts: float
    value: float


def recorded(
    events: Iterable[Event],
    *,
    samples: Iterable[Sample] = (),
    arguments: Iterable[tuple[int, str, float]] = (),
    side: Iterable[SideTable] = (),
    not_recorded: Mapping[Capability, str] | None = None,
    **info: Any,
) -> Trace:
    """The Trace of hand-made events, with what is said beside them; ``arguments`` are slice (as
    numbered in the events), key and number, ``info`` other fields of ``TraceInfo``."""
    made = columns(events)
    reasons = tuple(NotRecorded(what, text) for what, text in (not_recorded or {}).items())
    made.info = structs.replace(made.info, not_recorded=reasons, **info)
    made.side = tuple(side)
    _add(made, [*samples])
    _add_arguments(made, [*arguments])
    return build_trace(made)


def _add(made: EventColumns, samples: list[Sample]) -> None:
    codes = {text: code for code, text in enumerate(made.strings)}
    texts = {text for each in samples for text in (each.source, each.metric, each.unit)}
    for text in sorted(texts - codes.keys()):
        codes[text] = len(codes)
    made.strings = [*codes]
    values = {
        "source_code": [codes[each.source] for each in samples],
        "metric_code": [codes[each.metric] for each in samples],
        "unit_code": [codes[each.unit] for each in samples],
        "time_ns": [round(each.ts * 1000) for each in samples],
        "value": [each.value for each in samples],
    }
    made.tables["samples"] = {
        key: np.array(values[key], dtype) for key, dtype in SAMPLE_COLUMNS.items()
    }


def _add_arguments(made: EventColumns, arguments: list[tuple[int, str, float]]) -> None:
    codes = {text: code for code, text in enumerate(made.strings)}
    rows = ArgumentRows(lambda text: codes.setdefault(text, len(codes)))
    for row, key, value in arguments:
        rows.add(row, key, value)
    made.strings = [*codes]
    made.tables["arguments"] = rows.table()


def side_table(name: str, source: str, rows: Iterable[Mapping[str, Any]]) -> SideTable:
    """A side table of rows that hold only what is known."""
    schema = SIDE_SCHEMAS[name]
    full = [{key: row.get(key) for key in schema} for row in rows]
    return SideTable(name, source, pl.DataFrame(full, schema=schema))
