"""What part of the whole a row is, and what part it makes with all rows before it.

Definitions: ``docs/metrics.md#shares``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

TOTAL = "total_pct"
CUMULATIVE = "cumulative_pct"


def total_column(measure: str, whole: str, *, of_all_rows: bool = True) -> Column:
    """The share of a row.

    Args:
        measure: Title of the column whose share it is.
        whole: What the whole is, ``"the kernel time of the selection"``.
        of_all_rows: Whether it is one whole for all rows: shares of several do not add up.
    """
    text = f"{measure} as share of {whole}."
    return Column(TOTAL, "Share", "number", "pct", text, additive=of_all_rows)


def cumulative_column(measure: str, whole: str) -> Column:
    """The share of a row with all rows that have more of ``measure``."""
    text = (
        f"Share of {whole} in this row and all rows with more {measure}, independent of the sort "
        "order; ties follow the default order."
    )
    return Column(CUMULATIVE, "Cumulative Share", "number", "pct", text)


def share_columns(measure: str, whole: str, *, of_all_rows: bool = True) -> tuple[Column, Column]:
    """Both columns, for the end of a table; :func:`with_shares` fills them."""
    share = total_column(measure, whole, of_all_rows=of_all_rows)
    return share, cumulative_column(measure, whole)


def is_share(column: Column) -> bool:
    """Whether :func:`with_shares` fills a column."""
    return column.key in (TOTAL, CUMULATIVE)


def schema_before(spec: TableSpec) -> dict[str, type[pl.DataType]]:
    """Column key → dtype of what :func:`with_shares` is given: all but the columns it fills."""
    return {
        key: dtype for key, dtype in spec.polars_schema().items() if key not in (TOTAL, CUMULATIVE)
    }


def with_shares(table: Table, key: str, reason: str, *, within: str | None = None) -> Table:
    """``table`` with those of the two columns that it declares filled.

    Args:
        table: In its default order, without the columns that are filled.
        key: The column whose shares they are, in µs or whole numbers.
        reason: Why they are null where the whole is 0 or ``key`` is null.
        within: Column whose equal values make a whole of their own; None: all rows are one.
    """
    values = table.frame[key]
    is_time = next(column.unit for column in table.spec.columns if column.key == key) == "us"
    whole_numbers = (values * (NS_PER_US if is_time else 1)).round().cast(pl.Int64)
    shares = np.full((2, len(values)), np.nan)
    groups = np.zeros(len(values), np.int64)
    if within is not None:
        groups = table.frame[within].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    known = values.is_not_null().to_numpy()
    amounts = whole_numbers.fill_null(0).to_numpy()
    for group in distinct_values(groups).tolist():
        rows = np.flatnonzero((groups == group) & known)
        shares[:, rows] = _shares(amounts[rows])
    filled = {
        name: pl.Series(values_of, nan_to_null=True)
        for name, values_of in zip((TOTAL, CUMULATIVE), shares, strict=True)
        if name in table.spec.polars_schema()
    }
    columns = (
        filled[key].alias(key) if key in filled else table.frame[key]
        for key in table.spec.polars_schema()
    )
    frame = pl.DataFrame(list(columns))
    reasons = needed(frame, dict.fromkeys(filled, reason))
    return replace(table, frame=frame, null_reasons={**table.null_reasons, **reasons})


def of_whole(part: pl.Series, whole: int) -> pl.Series:
    """Parts in % of a whole, null of nothing and where the part is null; divided once, as polars
    multiplies with the inverse, which makes 87.5 a little more."""
    if not whole:
        return pl.Series(part.name, [None] * len(part), dtype=pl.Float64)
    shares = part.cast(pl.Float64).to_numpy() / whole * 100
    return pl.Series(part.name, shares, nan_to_null=True)


def _shares(amounts: Int64) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The shares of all amounts in %, and those with all larger ones; NaN of nothing."""
    whole = int(amounts.sum())
    if whole <= 0:
        return np.full((2, len(amounts)), np.nan)
    order = np.argsort(-amounts, kind="stable")
    cumulative = np.empty(len(amounts))
    cumulative[order] = np.cumsum(amounts[order]) / whole * 100
    return np.stack((amounts / whole * 100, cumulative))
