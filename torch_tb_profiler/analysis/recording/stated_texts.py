"""Texts that recordings state of single slices in arguments that are no columns of the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.trace.columns import Int64
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


COPY_ARGUMENTS = ("copy kind", "src kind", "dst kind", "memory kind")
"""Arguments with the direction and memories of copies, of recorders that name all copies alike."""


class CopyTexts(Struct, frozen=True, eq=False):
    """What recordings say of copies: per copy the index of its name and texts.

    Attributes:
        index: Per copy, into the others.
        names: The distinct names, each as often as its copies have other arguments.
        stated: The texts of :data:`COPY_ARGUMENTS`, joined; empty without any.
    """

    index: Int64
    names: list[str]
    stated: list[str]


def copy_texts(trace: Trace, copies: pl.DataFrame) -> CopyTexts:
    """What the recording says of some copies and sets.

    Args:
        trace: The trace.
        copies: Rows of ``trace.device_work``, with ``slice`` and ``name_code``.
    """
    keys = ["name_code", "stated"]
    described = copies.select("slice", "name_code").join(
        stated_texts(trace, COPY_ARGUMENTS), on="slice", how="left", maintain_order="left"
    )
    distinct = described.select(keys).unique(maintain_order=True).with_row_index("index")
    index = described.join(distinct, on=keys, how="left", nulls_equal=True, maintain_order="left")[
        "index"
    ]
    return CopyTexts(
        index.cast(pl.Int64).to_numpy(),
        [str(trace.strings[code]) for code in distinct["name_code"].to_list()],
        [text or "" for text in distinct["stated"].to_list()],
    )
