"""Device terms of recordings from devices other than GPUs. Views are written for GPUs with Tensor
Cores. For other devices, such as NPUs, :func:`localize_device_terms` replaces "GPU" by the name of
the device and clears Tensor Core values after a view is computed. Keys do not change:
``gpu_utilization_mean_pct`` is the utilization of any device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.device_kind import device_kind
from torch_tb_profiler.knowledge.devices import DeviceKind
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.checks import CHECKED
from torch_tb_profiler.views.schema import (
    Column,
    Fact,
    Note,
    Scalar,
    Series,
    Table,
    TableSpec,
    View,
)

_TENSOR_CORE_KEY = "tensor_core"
"""Part of the keys that have no value without Tensor Cores."""

_TENSOR_CORE_ROWS = ("using_tensor_cores", "eligible_not_using", "tensor_core")
"""First cells of rows that have no values without Tensor Cores."""

_GPU_GUIDES = ("guidance", "title")
"""The table of links, and its column in which rows about GPUs are recognized."""

_PROSE = {CHECKED.name: ("check", "reason"), "causes": ("title", "meaning", "remedy")}
"""Tables → the columns whose cells contain device terms."""

_DEVICE = "device"
"""Key of columns with the device of a row: its number or its name."""

_GPU = re.compile(r"\bGPU(s?)\b")


def localize_device_terms(traces: Mapping[str, Trace], view: View) -> View:
    """``view`` of ``traces`` with the terms of their devices."""
    kinds = {device_kind(trace) for trace in traces.values()}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return view
    return replace(
        view,
        answer=None if view.answer is None else _localized(view.answer, kind),
        tables={name: _table(table, kind) for name, table in view.tables.items()},
        series={name: _series(series, kind) for name, series in view.series.items()},
        facts=tuple(
            _fact(fact, kind)
            for fact in view.facts
            if fact.value is not None or fact.key not in kind.other_facts
        ),
        notes=tuple(
            _note(note, kind) for note in view.notes if note.code != "tensor_core_use_unknown"
        ),
    )


def _localized(text: str, kind: DeviceKind) -> str:
    return kind.localize(text)


def _fact(fact: Fact, kind: DeviceKind) -> Fact:
    has_none = _TENSOR_CORE_KEY in fact.key
    reason = kind.no_tensor_cores if has_none else fact.reason and _localized(fact.reason, kind)
    return replace(
        fact,
        title=_localized(fact.title, kind),
        value=None if has_none else _value(fact, kind),
        scope=fact.scope and _localized(fact.scope, kind),
        help=_localized(fact.help, kind),
        reason=reason,
    )


def _value(fact: Fact, kind: DeviceKind) -> Scalar:
    return _localized(str(fact.value), kind) if fact.key == "device_type" else fact.value


def _note(note: Note, kind: DeviceKind) -> Note:
    links = note.evidence.get("links")
    evidence = note.evidence
    if isinstance(links, list):
        own_links = [link for link in links if urlsplit(str(link)).hostname not in kind.other_hosts]
        evidence = {**evidence, "links": own_links}
    title = evidence.get("title")
    if isinstance(title, str):
        evidence = {**evidence, "title": _localized(title, kind)}
    return replace(note, text=_localized(note.text, kind), evidence=evidence)


def _series(series: Series, kind: DeviceKind) -> Series:
    lines = tuple(
        replace(line, name=_localized(line.name, kind))
        for line in series.lines
        if "Tensor Core" not in line.name
    )
    return replace(series, title=_localized(series.title, kind), lines=lines)


def _table(table: Table, kind: DeviceKind) -> Table:
    all_rows_of_table = table.all_rows
    table = replace(
        table,
        spec=_spec(table.spec, kind),
        null_reasons={key: _localized(text, kind) for key, text in table.null_reasons.items()},
        all_rows=None if all_rows_of_table is None else lambda: _table(all_rows_of_table(), kind),
    )
    table = replace(table, frame=_with_device_names(table.frame, kind))
    frame, name = table.frame, table.spec.name
    if _TENSOR_CORE_KEY in name:
        return replace(table, frame=frame.clear())
    if name == _GPU_GUIDES[0]:
        is_of_gpus = pl.col(_GPU_GUIDES[1]).str.contains(_GPU.pattern)
        return replace(table, frame=frame.filter(~is_of_gpus))
    if name in _PROSE:
        localized = [_localized_cells(frame[key], kind) for key in _PROSE[name] if key in frame]
        return replace(table, frame=frame.with_columns(localized))
    return _without_tensor_cores(table, kind.no_tensor_cores)


def _with_device_names(frame: pl.DataFrame, kind: DeviceKind) -> pl.DataFrame:
    """``frame`` with the numbered devices of its column ``device`` called what they are."""
    if frame.schema.get(_DEVICE) != pl.String:
        return frame
    named = pl.col(_DEVICE).str.replace(r"^GPU (\d+)$", f"{kind.name} ${{1}}")
    return frame.with_columns(named)


def _localized_cells(cells: pl.Series, kind: DeviceKind) -> pl.Series:
    texts = [None if text is None else _localized(text, kind) for text in cells]
    return pl.Series(cells.name, texts, dtype=pl.String)


def _without_tensor_cores(table: Table, reason: str) -> Table:
    """``table`` with columns and rows of Tensor Cores null."""
    frame, reasons = table.frame, dict(table.null_reasons)
    schema = frame.schema
    columns = [key for key in schema if _TENSOR_CORE_KEY in key]
    frame = frame.with_columns(pl.lit(None, schema[key]).alias(key) for key in columns)
    reasons |= dict.fromkeys(columns, reason) if frame.height else {}
    first, others = frame.columns[0], [key for key in frame.columns[1:] if key not in columns]
    if schema[first] == pl.String and table.spec.columns[0].key in ("class", "category"):
        is_of_them = pl.col(first).is_in(_TENSOR_CORE_ROWS)
        if frame.select(is_of_them.any()).item():
            frame = frame.with_columns(pl.when(~is_of_them).then(pl.col(key)) for key in others)
            reasons = {key: reasons.get(key, reason) for key in (*reasons, *others)}
    return replace(table, frame=frame, null_reasons=reasons)


@lru_cache(maxsize=1024)
def _spec(spec: TableSpec, kind: DeviceKind) -> TableSpec:
    has_none = _TENSOR_CORE_KEY in spec.name
    return replace(
        spec,
        title=_localized(spec.title, kind),
        help=_localized(spec.help, kind),
        columns=tuple(_column(column, kind) for column in spec.columns),
        when_empty=kind.no_tensor_cores if has_none else _localized(spec.when_empty, kind),
    )


def _column(column: Column, kind: DeviceKind) -> Column:
    return replace(column, title=_localized(column.title, kind), help=_localized(column.help, kind))
