"""Columns of tables for arguments of slices that no other column models.

A table gets them where the trace has such arguments (``analysis/recording/arguments.py``). Their
keys are ``arg_`` and the name in lower case with ``_`` for what a filter could not name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.arguments import (
    MAX_KEYS,
    NUMBERS,
    ArgumentKey,
    argument_keys,
    grouped_arguments,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import POLARS_TYPES, Column, Table

MAX_SHOWN = 8
"""Arguments beyond the most frequent ones are shown on request only."""

MAX_TITLE_CHARS = 60

_IDENTITY = re.compile(r"(?:^|[^a-z])(?:id|handle|hash|address|correlation)$|(?<=[a-z])I[dD]$")
"""Names of numbers that identify something: their means say nothing, so they are hidden."""

NO_VALUE = "No slice of this row has this argument."
NO_NUMBER = "No slice of this row has a number for this argument."

_TITLES = {"mean": "Mean", "min": "Min", "max": "Max", "sum": "Sum"}
_HELP = {
    "mean": "Mean of the argument {name} over the slices of this row that have it.",
    "min": "Smallest value of the argument {name} of the slices of this row.",
    "max": "Largest value of the argument {name} of the slices of this row.",
    "sum": "Sum of the argument {name} over the slices of this row that have it.",
}
_TEXT_HELP = (
    "The argument {name} of the slices of this row: its text where all have the same, else how "
    "many different texts there are."
)
_OTHER = re.compile(r"[^a-z0-9]+")


def with_arguments(
    trace: Trace,
    table: Table,
    values: pl.DataFrame,
    groups: pl.DataFrame,
    keys: Sequence[str],
) -> Table:
    """``table`` with the columns of the arguments that its slices have.

    Args:
        trace: The trace.
        table: Its first rows are those of ``groups``, in order; further rows have no arguments.
        values: ``argument_values`` of the slices of the groups, with ``keys``.
        groups: The groups.
        keys: The columns that identify a group.
    """
    if values.is_empty():
        return table
    present = set(values["key_code"].unique().to_list())
    columns: list[Column] = []
    series: list[pl.Series] = []
    taken = {column.key for column in table.spec.columns}
    for number, key in enumerate(argument_keys(trace)[:MAX_KEYS]):
        if key.code not in present:
            continue
        stem = _stem(key.name, taken)
        summed = grouped_arguments(values, groups, keys, key.code)
        is_hidden = number >= MAX_SHOWN or _is_identity(key)
        for column, data in _columns(trace, key, stem, summed, is_hidden=is_hidden):
            columns.append(column)
            taken.add(column.key)
            missing = table.frame.height - len(data)
            dtype = POLARS_TYPES[column.type]
            rest = pl.Series([None] * missing, dtype=dtype)
            series.append(pl.concat((data.cast(dtype), rest)).alias(column.key))
    added = pl.DataFrame(series)
    reasons = {column.key: NO_VALUE if column.type == "string" else NO_NUMBER for column in columns}
    return replace(
        table,
        spec=replace(table.spec, columns=(*table.spec.columns, *columns)),
        frame=table.frame.hstack(added),
        null_reasons={**table.null_reasons, **needed(added, reasons)},
    )


def _is_identity(key: ArgumentKey) -> bool:
    return not key.texts and _IDENTITY.search(key.name) is not None


def _stem(name: str, taken: set[str]) -> str:
    """What the keys of an argument begin with, different from that of others."""
    stem = f"arg_{_OTHER.sub('_', name.lower()).strip('_')[:MAX_TITLE_CHARS] or 'unnamed'}"
    number = 2
    unique = stem
    while any(key == unique or key.startswith(f"{unique}_") for key in taken):
        unique = f"{stem}_{number}"
        number += 1
    return unique


def _columns(
    trace: Trace, key: ArgumentKey, stem: str, summed: pl.DataFrame, *, is_hidden: bool
) -> list[tuple[Column, pl.Series]]:
    title = key.name if len(key.name) <= MAX_TITLE_CHARS else f"{key.name[: MAX_TITLE_CHARS - 1]}…"
    columns: list[tuple[Column, pl.Series]] = []
    if key.texts:
        help_text = _TEXT_HELP.format(name=title)
        column = Column(stem, title, "string", None, help_text, hidden=is_hidden)
        columns.append((column, _texts(trace, summed)))
    if key.numbers:
        columns += [
            (
                Column(
                    f"{stem}_{name}",
                    f"{_TITLES[name]} {title}",
                    "number",
                    None,
                    _HELP[name].format(name=title),
                    family=stem if name != "sum" else None,
                    hidden=is_hidden or name != "mean",
                    additive=name == "sum",
                ),
                summed[name],
            )
            for name in NUMBERS
        ]
    return columns


def _texts(trace: Trace, summed: pl.DataFrame) -> pl.Series:
    rows = zip(summed["text_count"].to_list(), summed["text_code"].to_list(), strict=True)
    texts = [
        None if not count else trace.text(code) if count == 1 else f"{count} values"
        for count, code in rows
    ]
    return pl.Series(texts, dtype=pl.String)
