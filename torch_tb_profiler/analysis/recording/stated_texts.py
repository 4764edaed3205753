"""Texts that recordings state of single slices in arguments that are no columns of the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.trace.model import Trace


def stated_texts(trace: Trace, keys: Sequence[str]) -> pl.DataFrame:
    """The texts of some arguments, joined per slice.

    Args:
        trace: The trace.
        keys: Names of arguments; values stand in this order.

    Returns:
        Columns: slice, stated (text of at least one value, joined by spaces); ordered by slice.
    """
    schema = {"slice": pl.Int64, "stated": pl.String}
    known = np.flatnonzero(np.isin(trace.strings, keys)).tolist() if trace.arguments.height else []
    if not known:
        return pl.DataFrame(schema=schema)
    order = pl.DataFrame(
        {"key_code": known, "place": [keys.index(str(trace.strings[code])) for code in known]},
        schema={"key_code": pl.Int32, "place": pl.Int64},
    )
    given = trace.arguments.drop_nulls("text_code").join(order, on="key_code")
    return (
        given.with_columns(stated=codes.texts(trace, given["text_code"]))
        .sort("slice", "place", maintain_order=True)
        .group_by("slice", maintain_order=True)
        .agg(pl.col("stated").str.join(" "))
    )
