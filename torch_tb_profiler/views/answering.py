"""What answers of views share: values of facts and rows as a sentence has them.

Each view that answers its question has an ``answer.py`` with a function of the finished view: its
numbers are those of the view's own tables and facts, so that they cannot differ from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

MAX_NAME = 48
"""Characters of a name that a sentence quotes; of longer ones the middle is left out."""

FIRST = 5
"""Rows of which a sentence gives the share together."""


_ITERATOR = re.compile(r"enumerate\((\w+)\)#\w+\.__next__")
"""The range that PyTorch records around each batch of a loader."""


def quoted(name: str) -> str:
    """A name of the trace on one line, as short as :data:`MAX_NAME`; of the range around a batch
    the class of the loader."""
    line = _ITERATOR.sub(r"\1", " ".join(name.split()))
    if len(line) <= MAX_NAME:
        return line
    head = (MAX_NAME - 1) * 2 // 3
    return f"{line[:head].rstrip()}…{line[head + 1 - MAX_NAME :].lstrip()}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``"1 call"``, ``"1,204 calls"``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def value_of(view: View, key: str, scope: str | None = None) -> Any:
    """The value of the first fact of that key (and scope, where given); None where there is none
    or its value is unknown."""
    facts = (each for each in view.facts if each.key == key and scope in (None, each.scope))
    return next((fact.value for fact in facts), None)


def rows_of(view: View, table: str) -> pl.DataFrame:
    """The rows of a table; no rows where the view has no such table."""
    shown = view.tables.get(table)
    return pl.DataFrame() if shown is None else shown.frame


def top_row(rows: pl.DataFrame, key: str, *conditions: pl.Expr) -> dict[str, Any] | None:
    """The row with the largest positive value of ``key`` among those that fulfil ``conditions``;
    of equal ones the first."""
    if not rows.height:
        return None
    chosen = rows.filter(pl.col(key) > 0, *conditions)
    if not chosen.height:
        return None
    return chosen.sort(key, descending=True, maintain_order=True).row(0, named=True)


def largest_part(
    rows: pl.DataFrame, *, name: str, time: str, whole: str, calls: str = "calls"
) -> str | None:
    """``"aten::addmm takes 63.9 % of … (198 µs in 26 calls); the first five take 94.4 %."``

    Args:
        rows: Rows with the key ``total_pct``.
        name: Key of what a row is called.
        time: Key of its time, in µs.
        whole: What the shares are of.
        calls: Key of its number of calls.

    Returns:
        None where no row has a share above 0.
    """
    ordered = rows.filter(pl.col("total_pct") > 0, pl.col(name).is_not_null())
    if not ordered.height:
        return None
    ordered = ordered.sort("total_pct", descending=True, maintain_order=True)
    first = ordered.row(0, named=True)
    spent = duration_text(first[time])
    if first[calls] is not None:
        spent += f" in {counted(first[calls], 'call')}"
    text = f"{quoted(first[name])} takes {percent_text(first['total_pct'])} of {whole} ({spent})"
    if ordered.height > FIRST:
        text += (
            f"; the first five take {percent_text(float(ordered['total_pct'].head(FIRST).sum()))}"
        )
    return f"{text}."


def joined(sentences: Iterable[str | None]) -> str | None:
    """The sentences that there are, in a row; None where there is none."""
    return " ".join(filter(None, sentences)) or None
