"""Arguments of slices that no column models: which the trace holds, and their values by group.

They come from formats that have no other place for them (counters of a dispatch), or were requested
when the trace was read (``ReadOptions.arguments``).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_KEYS = 50
"""Arguments that tables have columns for, the most frequent first."""

NUMBERS = ("mean", "min", "max", "sum")
"""What is computed of numbers, each over the slices of a row that have one."""


class ArgumentKey(Struct, frozen=True):
    """An argument of the trace.

    Attributes:
        code: Code of its name.
        name: Its name, as recorded.
        numbers: How many slices have a number.
        texts: How many have a text.
    """

    code: int
    name: str
    numbers: int
    texts: int


@per_trace
def argument_keys(trace: Trace) -> tuple[ArgumentKey, ...]:
    """The arguments of a trace, the most frequent first, then by name."""
    counts = trace.arguments.group_by("key_code").agg(
        pl.col("value").count().alias("numbers"), pl.col("text_code").count().alias("texts")
    )
    keys = [
        ArgumentKey(code, trace.text(code) or "", numbers, texts)
        for code, numbers, texts in counts.iter_rows()
    ]
    return tuple(sorted(keys, key=lambda each: (-each.numbers - each.texts, each.name)))


def argument_values(trace: Trace, slices: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``arguments`` of some slices, with the other columns of ``slices``.

    Args:
        trace: The trace.
        slices: A column ``slice`` and what the values will be grouped by.
    """
    columns = ("key_code", "value", "text_code")
    values = trace.arguments.select("slice", *columns)
    return slices.join(values, on="slice", how="inner").drop("slice")


def grouped_arguments(
    values: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str], code: int
) -> pl.DataFrame:
    """One argument of the slices of some groups.

    Args:
        values: Rows of :func:`argument_values` with ``keys``.
        groups: The keys of the groups.
        keys: The columns that identify a group; a null equals a null.
        code: Code of the argument's name.

    Returns:
        Per group, in order: :data:`NUMBERS` of its numbers, ``text_count``, the number of distinct
        texts, and ``text_code``, one of them. Null without a value.
    """
    number = pl.col("value")
    summed = (
        values.filter(pl.col("key_code") == code)
        .group_by(keys)
        .agg(
            number.mean().alias("mean"),
            number.min().alias("min"),
            number.max().alias("max"),
            pl.when(number.count() > 0).then(number.sum()).alias("sum"),
            pl.col("text_code").drop_nulls().n_unique().alias("text_count"),
            pl.col("text_code").min(),
        )
    )
    columns = (*NUMBERS, "text_count", "text_code")
    joined = groups.select(keys).join(
        summed, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.select(columns)


def argument_frame(trace: Trace) -> pl.DataFrame:
    """Every argument with the slice it belongs to, in order of slices.

    Columns: ``slice`` (its id), ``name``, ``track``, ``start_ns``, ``dur_ns``, ``key``, and
    ``value`` or ``text``, of which the other one is null.
    """
    rows = trace.arguments
    of_slices = trace.slices.select("name_code", "track", "start_ns", "dur_ns")[
        rows["slice"].to_numpy()
    ]
    names, keys, texts = (
        codes.texts(trace, column)
        for column in (of_slices["name_code"], rows["key_code"], rows["text_code"])
    )
    return pl.DataFrame(
        {
            "slice": rows["slice"],
            "name": names,
            **{key: of_slices[key] for key in ("track", "start_ns", "dur_ns")},
            "key": keys,
            "value": rows["value"],
            "text": texts,
        }
    )
