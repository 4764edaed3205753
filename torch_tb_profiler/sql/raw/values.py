"""How the columns of raw tables get their values from the tables of a trace."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.views.filling import Rows
from torch_tb_profiler.views.schema import Column, ColumnType, Unit, Value

_CATEGORIES = [category.name.lower() for category in Category]
CATEGORY_TEXTS = ", ".join(f"`{name}`" for name in _CATEGORIES)


def coded(key: str) -> Value:
    """The texts behind the codes of a column."""
    return lambda rows: codes.texts(rows.trace, rows[key])


def column_of(key: str) -> Value:
    """A column of another name."""
    return lambda rows: rows[key]


def of_track(key: str) -> Value:
    """A column of the tracks of the rows."""
    return lambda rows: rows.trace.tracks[key].gather(rows["track"].cast(pl.UInt32))


def of_slice(key: str) -> Value:
    """A column of the slices of the rows."""
    return lambda rows: _of_slices(rows, key)


def text_of_slice(key: str) -> Value:
    """The texts behind a column of codes of the slices of the rows."""
    return lambda rows: codes.texts(rows.trace, _of_slices(rows, key))


def of_track_of_slice(key: str) -> Value:
    """A column of the tracks of the slices of the rows."""
    return lambda rows: rows.trace.tracks[key].gather(_of_slices(rows, "track").cast(pl.UInt32))


def category(rows: Rows) -> pl.Series:
    """The names of the categories of the rows."""
    return pl.Series(_CATEGORIES).gather(rows["category"].cast(pl.UInt32))


def category_of_slice(rows: Rows) -> pl.Series:
    """The names of the categories of the slices of the rows."""
    return pl.Series(_CATEGORIES).gather(_of_slices(rows, "category").cast(pl.UInt32))


def end(rows: Rows) -> pl.Series:
    """Start plus duration."""
    ends: pl.Series = rows["start_ns"] + rows["dur_ns"]
    return ends


def end_of_slice(rows: Rows) -> pl.Series:
    """Start plus duration of the slices of the rows."""
    ends: pl.Series = _of_slices(rows, "start_ns") + _of_slices(rows, "dur_ns")
    return ends


def position(rows: Rows) -> pl.Series:
    """The position of each row in its table."""
    return pl.Series(np.arange(len(rows), dtype=np.int64))


def truth(key: str) -> Value:
    """A column of 1, 0 and -1 (absent) as booleans."""
    return lambda rows: codes.verdict_column(rows[key])


def integer(key: str, title: str, text: str, value: Value | None = None) -> Column:
    """A column of plain integers: numbers that identify something."""
    return Column(key, title, "integer", None, text, value=value)


def count(key: str, title: str, text: str, value: Value | None = None) -> Column:
    """A column of counts."""
    return Column(key, title, "integer", "count", text, value=value)


def time(key: str, title: str, text: str, value: Value | None = None) -> Column:
    """A column of nanoseconds."""
    return Column(key, title, "integer", "ns", text, value=value)


def size(key: str, title: str, text: str, value: Value | None = None) -> Column:
    """A column of bytes."""
    return Column(key, title, "integer", "bytes", text, value=value)


def label(key: str, title: str, text: str, value: Value | None = None) -> Column:
    """A column of texts."""
    return Column(key, title, "string", None, text, value=value)


def measure(
    key: str,
    title: str,
    text: str,
    value: Value | None = None,
    *,
    kind: ColumnType = "number",
    unit: Unit | None = None,
) -> Column:
    """A column of measured values."""
    return Column(key, title, kind, unit, text, value=value)


def _of_slices(rows: Rows, key: str) -> pl.Series:
    return rows.trace.slices[key].gather(rows["slice"].cast(pl.UInt32))


SLICE = "Id of its slice: `slices.id`."
TRACK_COLUMNS = (
    label("process", "Process", "Process id, as the file writes it.", of_track("pid")),
    label("process_name", "Process Name", "Name of the process.", of_track("process_name")),
    label("thread", "Thread", "Thread id, as the file writes it.", of_track("tid")),
    label("thread_name", "Thread Name", "Name of the thread or stream.", of_track("thread_name")),
)
"""What track a row with a ``track`` is on."""

SLICE_COLUMNS = (
    integer("slice", "Slice", SLICE),
    label("name", "Name", "Name of the slice.", text_of_slice("name_code")),
    label("category", "Category", "Category, as in `slices`.", category_of_slice),
    time("start_ns", "Start", "Start in trace time.", of_slice("start_ns")),
    time("dur_ns", "Duration", "Duration.", of_slice("dur_ns")),
    time("end_ns", "End", "End in trace time.", end_of_slice),
    integer("step", "Step", "Its step: `steps.id`.", of_slice("step")),
)
"""The slice of a row with a ``slice``."""
