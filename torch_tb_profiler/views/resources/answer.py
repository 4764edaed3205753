"""How busy hosts and devices were, in a sentence."""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.knowledge.resources import resources_file
from torch_tb_profiler.views.answering import quoted, rows_of
from torch_tb_profiler.views.resources.measured import RECORDING
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View

MOST = 3
"""Metrics in a sentence."""


def answer(view: View) -> str | None:
    """The means of the metrics that say most, in the order of ``resources.toml``."""
    rows = rows_of(view, "summary")
    known = rows.filter(pl.col("mean").is_not_null()) if rows.height else rows
    parts: list[str] = []
    for headline in resources_file().headlines:
        matches = [
            row
            for row in known.iter_rows(named=True)
            if re.search(headline.metric, _name(row), re.IGNORECASE)
        ]
        if headline.text is not None:
            matches = matches[:1]
        parts += [f"{headline.text or quoted(_name(row))} {_value(row)}" for row in matches]
    if parts:
        return f"On average: {', '.join(parts[:MOST])}."
    if not known.height:
        return None
    first = known.row(0, named=True)
    return f"On average: {quoted(_name(first))} {_value(first)}."


def _name(row: dict[str, object]) -> str:
    """Source and metric; the recording as a whole is no source of its own."""
    source = "" if row["source"] == RECORDING else f"{row['source']} "
    return f"{source}{row['metric']}"


def _value(row: dict[str, object]) -> str:
    mean, unit = row["mean"], row["unit"]
    assert isinstance(mean, float)
    if unit == "%":
        return percent_text(mean)
    shown = f"{mean:,.0f}" if abs(mean) >= 100 else f"{mean:.3g}"
    return f"{shown} {unit}" if unit else shown
