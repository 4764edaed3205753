"""The cells of a table as people read them: one unit per column, scaled by the column's size.

For the terminal and Markdown. Exact values are what JSON and CSV are for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.views.name_columns import NameMode, shown_names
from torch_tb_profiler.views.scales import (
    CONFIDENCE_DECIMALS,
    distinguishing_decimals,
    is_confidence,
    is_moment,
    multiple_for,
    significance_text,
)
from torch_tb_profiler.views.schema import Column, Fact, Scalar, Table, Unit
from torch_tb_profiler.views.spec import ViewSpec

NULL = "–"

_MIN_LEADING = 10
"""A multiple is used when the largest value of the column is at least this many of it, so that
small values of the same column keep digits."""


_DIGITS = 3
"""That say something of the largest value of a column."""

_FEW = 0.1
"""Values below this leave too few digits to the usual decimals."""

_NS_DECIMALS = 3
"""Of a µs."""

TIME_SCALES = {"s": ("s", 1e6, 6), "ms": ("ms", 1e3, 3), "us": ("µs", 1, 2), "ns": ("ns", 1e-3, 0)}
"""Unit that is asked for → label, µs in it, decimals."""


TREE_INDENT = "  "


class Scale(Struct, frozen=True):
    """How the numbers of one column are written.

    Attributes:
        label: The multiple of the unit, maybe empty.
        divisor: Values are divided by it.
        decimals: How many are written.
        full: What a smaller value is never rounded to: 100 of percentages.
    """

    label: str
    divisor: float
    decimals: int
    full: float = math.inf

    def text(self, value: Scalar) -> str:
        """``value`` in this scale; a value too small for its decimals is ``<0.001``, never 0, and
        one that is nearly all is ``>99.9``, never 100."""
        if value is None:
            return NULL
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value
        scaled = value / self.divisor + 0.0  # no minus before nothing
        text = f"{scaled:,.{self.decimals}f}"
        if value != 0 and float(text.replace(",", "")) == 0:
            return f"{'<' if value > 0 else '>-'}{10.0**-self.decimals:.{self.decimals}f}"
        if value < self.full <= float(text.replace(",", "")):
            return f">{self.full - 10.0**-self.decimals:.{self.decimals}f}"
        return text


class DisplayColumn(Struct, frozen=True):
    """One column ready to be laid out.

    Attributes:
        key: As in the declaration.
        title: For people, with ``est.`` before an estimate.
        unit: Label of the unit all cells are in, maybe empty.
        is_number: True when cells stand at the right.
        cells: One text per row.
        has_values: False when every cell is null.
        hidden: True when it is shown only to who names it.
    """

    key: str
    title: str
    unit: str
    is_number: bool
    cells: tuple[str, ...]
    has_values: bool
    hidden: bool = False


def display_columns(
    table: Table, names: NameMode = "short", time_unit: str | None = None
) -> list[DisplayColumn]:
    """The columns of ``table`` as text, in order; kernels under the name that ``names`` says,
    times in the unit of that name (of :data:`TIME_SCALES`; None: in that of their size)."""
    frame = finite(table.frame)
    shown = shown_names(table, names)
    if shown is not None:
        frame = frame.with_columns(shown)
    largest = {
        column.key: _largest(frame[column.key])
        for column in table.spec.columns
        if column.type in ("integer", "number")
    }
    return [
        _display_column(
            column, frame[column.key], _largest_of_family(column, table, largest), time_unit
        )
        for column in table.spec.columns
    ]


def _largest(values: pl.Series) -> float:
    return cast(float | None, values.abs().max()) or 0.0


def _largest_of_family(column: Column, table: Table, largest: dict[str, float]) -> float:
    """The largest value of the columns that are read together with ``column``."""
    family = [
        each.key
        for each in table.spec.columns
        if each is column
        or (
            not each.hidden
            and column.family is not None
            and (each.family, each.unit) == (column.family, column.unit)
        )
    ]
    return max(largest.get(key, 0.0) for key in family)


def _display_column(
    column: Column, values: pl.Series, largest: float, time_unit: str | None
) -> DisplayColumn:
    is_number = column.type in ("integer", "number")
    scale = Scale("", 1, 0)
    if is_number and time_unit is not None and column.unit == "us":
        scale = Scale(*TIME_SCALES[time_unit])
    elif is_number:
        scale = _scale_of(column, values, largest)
    title = column.title
    if column.estimated and "est." not in title.lower():
        title = f"est. {title}"
    return DisplayColumn(
        key=column.key,
        title=title,
        unit=scale.label,
        is_number=is_number,
        cells=tuple(map(scale.text, values.to_list())),
        has_values=values.null_count() < len(values),
        hidden=column.hidden,
    )


def _scale_of(column: Column, values: pl.Series, largest: float) -> Scale:
    whole = column.type == "integer" or (
        column.unit == "count" and bool((values.drop_nulls() % 1 == 0).all())
    )
    scale = _with_digits(scale_for(column.unit, largest, whole), _largest(values), column.unit)
    if is_confidence(column.key):
        return replace(scale, decimals=CONFIDENCE_DECIMALS)
    if is_moment(column.key):
        needed = distinguishing_decimals(values, column.unit, scale.divisor)
        return replace(scale, decimals=max(scale.decimals, needed))
    return scale


def _with_digits(scale: Scale, own_largest: float, unit: Unit | None) -> Scale:
    """``scale`` of a family with decimals that tell something of a column whose values are small in
    it; never more than a whole ns or byte needs."""
    shown = own_largest / scale.divisor
    if not math.isfinite(shown) or not 0 < shown < _FEW or scale.divisor == 1:
        return scale
    most = math.ceil(math.log10(scale.divisor)) + (_NS_DECIMALS if unit == "us" else 0)
    wanted = math.floor(-math.log10(shown)) + _DIGITS
    return replace(scale, decimals=max(scale.decimals, min(wanted, most)))


def scale_for(unit: Unit | None, largest: float, whole: bool) -> Scale:
    """The scale for numbers up to ``largest`` (in absolute value) of ``unit``.

    Args:
        unit: Unit of the values, None for a plain number.
        largest: The largest value; 0 when there is none.
        whole: True when the values are integers.
    """
    label, divisor = multiple_for(unit, largest, least=_MIN_LEADING)
    if whole and divisor == 1:
        return Scale(label, divisor, 0)
    scaled = largest / divisor
    decimals = 1 if scaled >= 1000 else 2 if scaled >= 100 or unit == "pct" else 3
    return Scale(label, divisor, decimals, 100.0 if unit == "pct" else math.inf)


def finite(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with null for every NaN and infinity."""
    numbers = pl.col(pl.Float64)
    return frame.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())


def facts_in_order(spec: ViewSpec, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The facts that stand before everything else, in the order of the view's declaration, and the
    others."""
    rank = {key: at for at, key in enumerate(spec.leading_facts)}
    leading = [fact for fact in facts if fact.key in rank]
    others = [fact for fact in facts if fact.key not in rank]
    return sorted(leading, key=lambda fact: rank[fact.key]), others


def fact_text(fact: Fact) -> str:
    """The value of a fact with its unit, or the dash with the reason."""
    value = fact.value
    if value is None or (isinstance(value, float) and value - value != 0):
        return f"{NULL} ({fact.reason})" if fact.reason else NULL
    if isinstance(value, str | bool):
        return Scale("", 1, 0).text(value)
    scale = scale_for(fact.unit, abs(float(value)), isinstance(value, int))
    if is_confidence(fact.key):
        return significance_text(float(value))
    if is_moment(fact.key) and fact.unit == "us":
        scale = Scale("µs", 1, 3)  # alone, it is there to be added to others: to the ns
    sign = "+" if fact.key.startswith("delta_") and value > 0 else ""
    return f"{sign}{scale.text(value)} {scale.label}".rstrip()


def chosen(columns: Sequence[DisplayColumn], keys: Sequence[str] | None) -> list[DisplayColumn]:
    """The columns named by ``keys`` in that order; unknown keys are passed over, None takes all
    but the hidden ones."""
    if keys is None:
        return [column for column in columns if not column.hidden]
    by_key = {column.key: column for column in columns}
    return [by_key[key] for key in keys if key in by_key]


def with_columns(tables: Iterable[Table], keys: Sequence[str] | None) -> list[Table]:
    """The tables that have one of the columns named by ``keys``; None takes all."""
    return [
        table
        for table in tables
        if keys is None or any(column.key in keys for column in table.spec.columns)
    ]


def indented(table: Table, columns: Sequence[DisplayColumn]) -> list[DisplayColumn]:
    """The columns; where only hidden ones tell which row is below which, its name is indented."""
    if table.spec.tree is None:
        return list(columns)
    own, above = table.spec.tree
    first = next((at for at, column in enumerate(columns) if not column.hidden), None)
    if first is None or columns[first].key in (own, above):
        return list(columns)
    depth: dict[object, int] = {None: -1}
    for row, parent in zip(table.frame[own], table.frame[above], strict=True):
        if parent not in depth:  # sorted or filtered: what it is below stands elsewhere
            return list(columns)
        depth[row] = depth[parent] + 1
    del depth[None]
    cells = zip(depth.values(), columns[first].cells, strict=True)
    indented = tuple(f"{TREE_INDENT * levels}{cell}" for levels, cell in cells)
    return [*columns[:first], replace(columns[first], cells=indented), *columns[first + 1 :]]
