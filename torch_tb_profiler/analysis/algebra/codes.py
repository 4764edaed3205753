"""Dictionary codes: rules applied once per distinct name, and codes turned into text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

YES, NO, UNKNOWN = 1, 0, -1
"""A verdict that may be unknown; int8 in columns."""


def verdict(value: bool | None) -> int:
    """A verdict as number."""
    if value is None:
        return UNKNOWN
    return YES if value else NO


def verdict_column(values: pl.Series) -> pl.Series:
    """int8 verdicts as booleans, unknown as null."""
    return pl.select(pl.when(values >= 0).then(values == 1)).to_series().alias(values.name)


def map_names(
    trace: Trace, codes: npt.NDArray[Any], rule: Callable[[str], Any], dtype: type[np.generic]
) -> npt.NDArray[Any]:
    """``rule(text)`` for each code; the rule runs once per distinct text.

    Args:
        trace: Whose dictionary the codes belong to.
        codes: Codes, none absent.
        rule: Maps a text to a value.
        dtype: Type of these values.
    """
    table = np.zeros(len(trace.strings), dtype)
    present = np.flatnonzero(np.bincount(codes, minlength=len(trace.strings)))
    for code in present.tolist():
        table[code] = rule(str(trace.strings[code]))
    values: npt.NDArray[Any] = table[codes]
    return values


def names_match(trace: Trace, codes: npt.NDArray[Any], predicate: Callable[[str], bool]) -> Bools:
    """Whether ``predicate`` holds for the text of each code, none of which is absent."""
    matches: Bools = map_names(trace, codes, predicate, np.bool_)
    return matches


def present_names_match(
    trace: Trace, codes: pl.Series, rule: Callable[[str], bool], *, absent: bool
) -> Bools:
    """Whether ``rule`` holds for the text of each code; ``absent`` where the code is null."""
    known = codes.is_not_null().to_numpy()
    matches: Bools = np.full(len(codes), absent)
    matches[known] = names_match(trace, codes.drop_nulls().to_numpy(), rule)
    return matches


def texts(trace: Trace, codes: pl.Series) -> pl.Series:
    """The text behind each code, null for null."""
    distinct, row = factorize(indices(codes))
    known = [None if code < 0 else str(trace.strings[code]) for code in distinct.tolist()]
    return pl.Series(codes.name, known, dtype=pl.String).gather(row)
