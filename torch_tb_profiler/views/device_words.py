"""Device terms of recordings of other devices than NVIDIA's. Views are written for those, and
:func:`localize_device_terms` replaces the terms after a view is computed. Keys do not change:
``gpu_utilization_mean_pct`` is the utilization of any device, ``tensor_core_used`` the use of any
matrix units.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.matrix_units import unknown_matrix_units
from torch_tb_profiler.knowledge.device_terms import GPU, DeviceTerms
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
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.without_times import missing_of

_TENSOR_CORE_KEY = "tensor_core"
"""Part of the keys that have no value where the use of matrix units is unknown."""

_TENSOR_CORE_ROWS = ("using_tensor_cores", "eligible_not_using", "tensor_core")
"""First cells of rows that have no values there."""

_LINKS = ("guidance", "url")
"""The table of links to pages, and its column with their addresses."""

_PROSE = {
    CHECKED.name: ("check", "reason"),
    "causes": ("title", "meaning", "remedy"),
    "categories": ("meaning",),
    "guidance": ("title", "text"),
}
"""Tables → the columns whose cells contain device terms."""

_OF_DETECTOR = "same_time"
"""Part of the evidence of what detectors find, whose texts have these terms already."""

_DEVICE = "device"
"""Key of columns with the device of a row: its number or its name."""

_GPU_NUMBER = r"^GPU ?(\d+)$"
_TEXTS = ("title", "help", "null_reasons")
"""Keys of texts in the declaration of a table."""


def localize_device_terms(traces: Mapping[str, Trace], view: View) -> View:
    """``view`` of ``traces`` with the terms of their devices."""
    kinds = {device_terms(trace) for trace in traces.values()}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return view
    reasons = {unknown_matrix_units(trace) for trace in traces.values()}
    words = _Words(kind, next(iter(reasons)) if len(reasons) == 1 else kind.no_matrix_units)
    return replace(
        view,
        answer=None if view.answer is None else kind.localize(view.answer),
        tables={name: words.table(table) for name, table in view.tables.items()},
        series={name: words.series(series) for name, series in view.series.items()},
        facts=tuple(
            words.fact(fact)
            for fact in view.facts
            if fact.value is not None or fact.key not in kind.other_facts
        ),
        notes=tuple(
            words.note(note)
            for note in view.notes
            if words.unknown is None or note.code != "tensor_core_use_unknown"
        ),
    )


def missing_reason_of(spec: ViewSpec, trace: Trace) -> str | None:
    """Why ``spec`` has nothing to show of ``trace``, in the terms of its devices; None where it
    has."""
    reason, kind = missing_of(spec, trace), device_terms(trace)
    return reason if reason is None or kind is None else kind.localize(reason)


class _Words:
    """The terms of one kind of devices, and why it is unknown which kernels use matrix units (None
    where it is known of some)."""

    def __init__(self, kind: DeviceTerms, unknown: str | None) -> None:
        self._kind = kind
        self.unknown = unknown

    def fact(self, fact: Fact) -> Fact:
        """``fact`` in these terms."""
        has_none = self.unknown is not None and _TENSOR_CORE_KEY in fact.key
        reason = self.unknown if has_none else fact.reason and self._kind.localize(fact.reason)
        return replace(
            fact,
            title=self._kind.localize(fact.title),
            value=None if has_none else self._value(fact),
            scope=fact.scope and self._kind.localize(fact.scope),
            help=self._kind.localize(fact.help),
            reason=reason,
        )

    def _value(self, fact: Fact) -> Scalar:
        is_of_type = fact.key == "device_type"
        return self._kind.localize(str(fact.value)) if is_of_type else fact.value

    def note(self, note: Note) -> Note:
        """``note`` in these terms. Those of detectors have the terms already, but for names of
        devices that they quote."""
        evidence = dict(note.evidence)
        if isinstance(links := evidence.get("links"), list):
            evidence["links"] = [link for link in links if self._kind.is_own_link(str(link))]
        if isinstance(title := evidence.get("title"), str):
            evidence["title"] = self._kind.localize(title)
        if isinstance(table := evidence.get("table"), dict):
            evidence["table"] = self._declaration(table)
        is_in_terms = _OF_DETECTOR in evidence and self._kind.device == GPU
        text = note.text if is_in_terms else self._kind.localize(note.text)
        return replace(note, text=text, evidence=evidence)

    def _declaration(self, table: dict[str, object]) -> dict[str, object]:
        """The declaration of a table of evidence: its texts, also inside, but no keys or units."""

        def localized(key: str, value: object) -> object:
            if isinstance(value, str):
                return self._kind.localize(value) if key in _TEXTS else value
            if isinstance(value, dict):
                inner = key if key in _TEXTS else ""
                return {each: localized(inner or each, item) for each, item in value.items()}
            return [localized("", item) for item in value] if isinstance(value, list) else value

        return {key: localized(key, value) for key, value in table.items()}

    def series(self, series: Series) -> Series:
        """``series`` in these terms; without lines of matrix units of which nothing is known."""
        lines = tuple(
            replace(line, name=self._kind.localize(line.name))
            for line in series.lines
            if self.unknown is None or "Tensor Core" not in line.name
        )
        return replace(series, title=self._kind.localize(series.title), lines=lines)

    def table(self, table: Table) -> Table:
        """``table`` in these terms."""
        every = table.all_rows
        name, kind = table.spec.name, self._kind
        frame = self._cells(name, table.frame)
        table = replace(
            table,
            spec=_spec(table.spec, kind, self.unknown),
            frame=frame,
            null_reasons={key: kind.localize(text) for key, text in table.null_reasons.items()},
            all_rows=None if every is None else lambda: self.table(every()),
        )
        if self.unknown is None:
            return table
        if _TENSOR_CORE_KEY in name:
            return replace(table, frame=frame.clear())
        return _without_tensor_cores(table, self.unknown)

    def _cells(self, name: str, frame: pl.DataFrame) -> pl.DataFrame:
        """The cells that contain terms, and the names of numbered devices."""
        kind = self._kind
        if name == _LINKS[0]:
            own = [kind.is_own_link(link) for link in frame[_LINKS[1]]]
            frame = frame.filter(pl.Series(own, dtype=pl.Boolean))
        if frame.schema.get(_DEVICE) == pl.String:
            named = pl.col(_DEVICE).str.replace(_GPU_NUMBER, f"{kind.device} ${{1}}")
            frame = frame.with_columns(named)
        prose = [key for key in _PROSE.get(name, ()) if frame.schema.get(key) == pl.String]
        return frame.with_columns(_localized_cells(frame[key], kind) for key in prose)


def _localized_cells(cells: pl.Series, kind: DeviceTerms) -> pl.Series:
    texts = [None if text is None else kind.localize(text) for text in cells]
    return pl.Series(cells.name, texts, dtype=pl.String)


def _without_tensor_cores(table: Table, reason: str) -> Table:
    """``table`` with columns and rows of matrix units null."""
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
def _spec(spec: TableSpec, kind: DeviceTerms, unknown: str | None) -> TableSpec:
    has_none = unknown is not None and _TENSOR_CORE_KEY in spec.name
    return replace(
        spec,
        title=kind.localize(spec.title),
        help=kind.localize(spec.help),
        columns=tuple(_column(column, kind) for column in spec.columns),
        when_empty=unknown if unknown and has_none else kind.localize(spec.when_empty),
    )


def _column(column: Column, kind: DeviceTerms) -> Column:
    return replace(column, title=kind.localize(column.title), help=kind.localize(column.help))
