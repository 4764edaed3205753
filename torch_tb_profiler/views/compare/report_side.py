"""A side of a comparison that is a JSON report: what its tables say of steps, operators, kernels,
modules and memory. What they do not say is null with the reason.

Definitions: ``docs/views-compare.md#reports-as-sides``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.selection import Selection as Part
from torch_tb_profiler.analysis.selection import SelectionError, UnusableRecordingError
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.compare.average import CATEGORIES, StepTimes
from torch_tb_profiler.views.compare.recorded import Setting, setting
from torch_tb_profiler.views.compare.sides import (
    KERNEL_MEASURES,
    MODULE_MEASURES,
    OPERATOR_MEASURES,
    ModuleSide,
    NamedSide,
)
from torch_tb_profiler.views.compare.steps import unknown_samples
from torch_tb_profiler.views.compare.tables import Measure, Side

TABLE = "report_views"
NOT_IN_REPORT = "A side is a report, which does not hold it."
NO_SAMPLES = (
    "A side is a report: it has the sums of each row, not its time in each step, so the noise "
    "is not known."
)
NARROWED = "A side that is a report has no events, so it cannot be narrowed."

_TREE = ("path", "name", "parent")
_FACTS = {
    "device": "gpu_names",
    "device_count": "gpu_count",
    "driver": "cuda_driver_version",
    "host": "host_name",
    "processor": "cpu_model",
}
"""Aspect of the environment → fact of the overview."""


def is_report(trace: Trace) -> bool:
    """Whether a recording is a JSON report."""
    return TABLE in trace.side


class _Column(msgspec.Struct):
    key: str


class _Table(msgspec.Struct):
    columns: list[_Column]
    rows: list[list[str | int | float | bool | None]]
    row_count: int
    null_reasons: dict[str, str] = {}


class _Fact(msgspec.Struct):
    key: str
    value: str | int | float | bool | None = None


class _Note(msgspec.Struct):
    code: str
    evidence: dict[str, Any] = {}


class _Answer(msgspec.Struct):
    """What of an answer is compared."""

    tables: dict[str, _Table]
    facts: list[_Fact] = []
    notes: list[_Note] = []
    selection: dict[str, Any] = {}


class JsonReport(msgspec.Struct, frozen=True, eq=False):
    """The answers of a report by view."""

    answers: dict[str, _Answer]

    def frame(self, view: str, table: str) -> tuple[pl.DataFrame, dict[str, str]]:
        """The rows of a table and why values are null; no rows where it lacks the table, and where
        it holds only a part of its rows."""
        shown = self.answers[view].tables.get(table) if view in self.answers else None
        if shown is None or len(shown.rows) < shown.row_count:
            return pl.DataFrame(), {}
        columns = zip(*shown.rows, strict=True) if shown.rows else [[] for _ in shown.columns]
        keys = [column.key for column in shown.columns]
        series = [
            pl.Series(key, list(values), strict=False)
            for key, values in zip(keys, columns, strict=True)
        ]
        return pl.DataFrame(series), shown.null_reasons

    def fact(self, key: str) -> Any:
        """The value of a fact of the overview."""
        return next(
            (each.value for each in self.answers["overview"].facts if each.key == key), None
        )


@per_trace
def report_of(trace: Trace) -> JsonReport:
    """The report that a recording is; one without views where it is none.

    Raises:
        SelectionError: its tables have another shape.
    """
    rows = trace.side[TABLE].frame.rows() if is_report(trace) else []
    try:
        answer_type = set_up(_Answer)
        report = JsonReport(
            {view: msgspec.json.decode(text, type=answer_type) for view, text in rows}
        )
    except msgspec.DecodeError as error:
        raise _other_shape(str(error)) from None
    for answer in report.answers.values():
        for name, table in answer.tables.items():
            keys = {column.key for column in table.columns}
            is_whole = len(keys) == len(table.columns)
            if not is_whole or any(len(row) != len(keys) for row in table.rows):
                raise _other_shape(f"rows of table {name[:80]!r} do not fit its columns")
    return report


def _other_shape(problem: str) -> SelectionError:
    return UnusableRecordingError(
        f"the report has another shape than this version writes: {problem}"
    )


def refuse_narrowed(selection: Part) -> None:
    """Refuse to narrow a report.

    Raises:
        SelectionError: steps, times or a phase are selected.
    """
    if not selection.is_everything:
        raise SelectionError(NARROWED)


def report_steps(report: JsonReport) -> StepTimes:
    """Its steps: those that its overview averages over, and the others."""
    frame, reasons = report.frame("overview", "steps")
    cut = {
        str(name)
        for note in report.answers["overview"].notes
        if note.code == "step_cut"
        for name in note.evidence.get("steps", [])
    }
    if frame.is_empty():
        return StepTimes(
            [], np.zeros((len(CATEGORIES), 0), np.int64), np.zeros(0, np.bool_), False, {}
        )
    names = [str(name) for name in frame["step"]]
    whole = np.array([name not in cut for name in names], np.bool_)
    times = np.array([_numbers(frame, key) for key in CATEGORIES])
    unknown = {
        key: reasons.get(key, NOT_IN_REPORT)
        for key, row in zip(CATEGORIES, times, strict=True)
        if np.isnan(row).any()
    }
    times_ns: Int64 = np.round(np.nan_to_num(times) * NS_PER_US).astype(np.int64)
    averaged = whole if whole.any() else ~whole
    return StepTimes(names, times_ns, averaged, bool(whole.any()), unknown)


def report_operators(report: JsonReport, divisor: float) -> NamedSide:
    """Operators by name; unknown where the report groups them otherwise."""
    return _named(report, "operators", OPERATOR_MEASURES, divisor)


def report_kernels(report: JsonReport, divisor: float) -> NamedSide:
    """Kernels by name likewise."""
    return _named(report, "kernels", KERNEL_MEASURES, divisor)


def _named(
    report: JsonReport, view: str, measures: tuple[Measure, ...], divisor: float
) -> NamedSide:
    frame, reasons = report.frame(view, view)
    names = [str(name) for name in frame["name"]] if "name" in frame.columns else []
    if len(set(names)) < frame.height:
        names, frame = [], frame.clear()
    return NamedSide(names, _side(frame, reasons, measures, divisor))


def report_modules(report: JsonReport, divisor: float) -> ModuleSide:
    """Modules by position in the tree."""
    frame, reasons = report.frame("modules", "modules")
    if not _is_tree(frame):
        frame = pl.DataFrame(schema=dict.fromkeys(_TREE, pl.String))
    keys = frame.select(pl.col(_TREE).cast(pl.String))
    return ModuleSide(keys, _side(frame, reasons, MODULE_MEASURES, divisor), np.empty(0, np.int64))


def _is_tree(frame: pl.DataFrame) -> bool:
    """Whether every row has a path of its own, and a parent that stands before it."""
    if not set(_TREE) <= set(frame.columns):
        return False
    known: set[str | None] = {None}
    for path, name, parent in frame.select(pl.col(_TREE).cast(pl.String)).rows():
        if path is None or name is None or path in known or parent not in known:
            return False
        known.add(path)
    return True


def _side(
    frame: pl.DataFrame, reasons: dict[str, str], measures: tuple[Measure, ...], divisor: float
) -> Side:
    values, unknown = {}, {}
    for measure in measures:
        numbers = _numbers(frame, measure.key)
        values[measure.key] = numbers if measure.is_mean else numbers / divisor
        if np.isnan(numbers).any() or not len(numbers):
            unknown[measure.key] = reasons.get(measure.key, NOT_IN_REPORT)
    samples = {each.key: unknown_samples(frame.height) for each in measures if each.sampled}
    return Side(frame.height, values, samples, unknown)


def _numbers(frame: pl.DataFrame, key: str) -> Float64:
    """A column as numbers; NaN for null, and for all where there is none."""
    if key not in frame.columns:
        return np.full(frame.height, np.nan)
    column = frame[key].cast(pl.Float64, strict=False)
    numbers: Float64 = column.fill_null(np.nan).to_numpy()
    return numbers


def report_memory(report: JsonReport) -> dict[tuple[str, str], int]:
    """Bytes by device and measure: the peaks, and what the allocated one is made of."""
    sizes: dict[tuple[str, str], int] = {}

    def add(device: object, measure: str, size: object) -> None:
        if isinstance(size, int):
            sizes[str(device), measure] = size

    for row in report.frame("memory", "memory_peaks")[0].rows(named=True):
        for measure in ("peak_allocated", "peak_reserved"):
            add(row.get("device"), measure, row.get(f"{measure}_bytes"))
    for row in report.frame("memory", "peak_categories")[0].rows(named=True):
        add(row.get("device"), f"peak_{row.get('category')}", row.get("size_bytes"))
    return sizes


def report_settings(report: JsonReport) -> dict[str, Setting]:
    """What a report says of where it was recorded, by aspect."""
    settings = {}
    for aspect, key in _FACTS.items():
        value = report.fact(key)
        settings[aspect] = setting(None if value is None else str(value), NOT_IN_REPORT)
    return settings
