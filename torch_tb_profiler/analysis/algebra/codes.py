"""Between dictionary codes and text: names become verdicts once, shown rows become text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

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


def of_names(
    trace: Trace, codes: npt.NDArray[Any], rule: Callable[[str], Any], dtype: type[np.generic]
) -> npt.NDArray[Any]:
    """``rule(text)`` for each code; each distinct text is looked at once.

    Args:
        trace: Whose dictionary the codes belong to.
        codes: Codes, none absent.
        rule: Says something of a text.
        dtype: Type of what it says.
    """
    table = np.zeros(len(trace.strings), dtype)
    present = np.flatnonzero(np.bincount(codes, minlength=len(trace.strings)))
    for code in present.tolist():
        table[code] = rule(str(trace.strings[code]))
    of_codes: npt.NDArray[Any] = table[codes]
    return of_codes


def names_match(trace: Trace, codes: npt.NDArray[Any], predicate: Callable[[str], bool]) -> Bools:
    """Whether ``predicate`` holds for the text of each code, none of which is absent."""
    matches: Bools = of_names(trace, codes, predicate, np.bool_)
    return matches


def of_present_names(
    trace: Trace, codes: pl.Series, rule: Callable[[str], bool], *, absent: bool
) -> Bools:
    """As :func:`of_names` for a yes or no of codes that may be absent (null), which are
    ``absent``."""
    known = codes.is_not_null().to_numpy()
    of_codes: Bools = np.full(len(codes), absent)
    of_codes[known] = of_names(trace, codes.drop_nulls().to_numpy(), rule, np.bool_)
    return of_codes


def texts(trace: Trace, codes: pl.Series) -> pl.Series:
    """The text behind each code, null for null."""
    rows = codes.to_list()
    known = {code: str(trace.strings[code]) for code in set(rows) if code is not None}
    return pl.Series(codes.name, [known.get(code) for code in rows], dtype=pl.String)
