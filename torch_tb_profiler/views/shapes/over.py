"""Calls summed per operator or type and iteration, with the figures over the iterations."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize, order_by_id
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.views.shapes.calls import Calls, Coded
from torch_tb_profiler.views.shapes.sums import Figures, figures, first_of, sum_known


class _Over(Struct, frozen=True, eq=False):
    """Calls by key and iteration; a cell is a pair of both.

    Attributes:
        cell: Per call the number of its cell.
        key: Per cell its key.
        figures: Per key over its cells.
        distinct: Per key how many shapes were recorded.
    """

    cell: Int64
    key: Int64
    figures: Figures
    distinct: Int64


def types_over(calls: Calls) -> pl.DataFrame:
    """The rows of the table of types, those with the highest mean first; ``key`` numbers the
    types."""
    over = _over(calls, calls.type)
    order = _by_key(np.lexsort((-over.figures.mean,)), over.key)
    first = first_of(over.cell, len(over.key))
    return _frame(calls, over, over.cell, first, order).select(
        _numbers(calls.type, first[order]), _texts(calls.type, first[order], "type"), pl.all()
    )


def instances_over(calls: Calls) -> tuple[pl.DataFrame, Int64]:
    """The rows of the table of operators, those of most shapes and then of the highest mean first
    (``key`` numbers the operators); and per operator how many shapes were recorded."""
    over = _over(calls, calls.operator)
    row = _by_detail(calls, over)
    first = first_of(row, int(row.max(initial=-1)) + 1)
    keys = np.lexsort((-over.figures.mean, -over.distinct))
    order = _by_key(keys, calls.operator.of_calls[first])
    shown = first[order]
    frame = _frame(calls, over, row, first, order).select(
        _numbers(calls.operator, shown),
        _texts(calls.operator, shown, "name"),
        _texts(calls.type, shown, "type"),
        pl.all(),
        _texts(calls.shape, shown, "input_shapes"),
    )
    return frame, over.distinct


def _over(calls: Calls, key: Coded) -> _Over:
    width = len(calls.iteration.texts)
    cells, cell = factorize(key.of_calls * width + calls.iteration.of_calls)
    of_cell = cells // max(width, 1)
    times = sum_known(cell, len(cells), calls.time_us)
    count = len(key.texts)
    return _Over(cell, of_cell, figures(of_cell, count, times), _distinct(calls, key))


def _distinct(calls: Calls, key: Coded) -> Int64:
    """How many shapes each key has."""
    is_shape = calls.shape.texts.is_not_null().to_numpy()
    width = max(len(is_shape), 1)
    pairs, _ = factorize(key.of_calls * width + calls.shape.of_calls)
    recorded = pairs[is_shape[pairs % width]] if len(pairs) else pairs
    return np.bincount(recorded // width, minlength=len(key.texts))


def _by_detail(calls: Calls, over: _Over) -> Int64:
    """Per call its row: its place, but a row per type and shape where its operator has several.
    Rows of a place follow each other."""
    detail = calls.shape.of_calls * len(calls.type.texts) + calls.type.of_calls
    operator = calls.operator.of_calls
    example = np.empty(len(calls.operator.texts), np.int64)
    example[operator] = detail
    varies: Bools = np.zeros(len(example), np.bool_)
    varies[operator[example[operator] != detail]] = True
    if not varies.any():
        return over.cell
    inside = np.zeros(len(detail), np.int64)
    chosen = varies[operator]
    _, inside[chosen] = factorize(detail[chosen])
    _, row = factorize(over.cell * (int(inside.max()) + 1) + inside)
    return row


def _by_key(keys: Int64, of_rows: Int64) -> Int64:
    """The order of rows in which their keys come as in ``keys``."""
    rank = np.empty(len(keys), np.int64)
    rank[keys] = np.arange(len(keys))
    return order_by_id(rank[of_rows])


def _frame(calls: Calls, over: _Over, row: Int64, first: Int64, order: Int64) -> pl.DataFrame:
    """The columns that both tables share.

    Args:
        row: Per call its row.
        first: Per row its first call.
        order: The order of the rows.
    """
    shown = first[order]
    key = over.key[over.cell[shown]]
    time_us = sum_known(row, len(first), calls.time_us)
    timed = np.bincount(row[~np.isnan(calls.time_us)], minlength=len(first))
    with np.errstate(invalid="ignore"):
        call_mean_us = time_us / timed
    return pl.DataFrame(
        {
            "iteration": _texts(calls.iteration, shown, "iteration"),
            "calls": np.bincount(row, minlength=len(first))[order],
            "time_us": _series(time_us[order]),
            "call_mean_us": _series(call_mean_us[order]),
            "mean_us": _series(over.figures.mean[key]),
            "min_us": _series(over.figures.low[key]),
            "max_us": _series(over.figures.high[key]),
            "distinct_shapes": over.distinct[key],
        }
    )


def _series(values: Float64) -> pl.Series:
    return pl.Series(values, nan_to_null=True)


def _numbers(column: Coded, rows: Int64) -> pl.Series:
    """A number of the text of each row, as ``key``; the same for equal texts."""
    numbers = pl.Series("key", column.of_calls[rows])
    if column.texts.n_unique() == len(column.texts):
        return numbers
    texts = column.texts.alias("text").to_frame().with_row_index("place")
    first = texts.select(pl.col("place").first().over("text")).to_series()
    of_rows: pl.Series = first.gather(numbers).cast(pl.Int64)
    return of_rows.alias("key")


def _texts(column: Coded, rows: Int64, name: str) -> pl.Series:
    return column.texts.gather(column.of_calls[rows]).alias(name)
