"""What is wrong with a view whatever it was asked: numbers that cannot be, and nothing without a
reason."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import polars as pl

from torch_tb_profiler.views.schema import Fact, Table, View

SIGNED = re.compile(
    r"delta|change|gain|increase|saved|start|begin|end_us|at_us|origin|moved|offset|lag|net_"
)
"""Keys of values below zero: differences, and moments, which may lie before the first slice."""
BEYOND_100 = re.compile(
    r"delta|change|variation|^(cpu|gpu)_pct$|(gpu|tensor_core)_time_pct$|^share_pct$|^limit_pct$|utilization_pct"
)
"""Keys of shares of what is no whole: concurrent work, several threads, an allocator's own total
where its releases are missing."""
ROUNDING = 1e-6


def problems(view: View) -> Iterator[str]:
    """What is wrong with a view, a line each."""
    for table in view.tables.values():
        if dict(table.frame.schema) != table.spec.polars_schema():
            yield f"{table.spec.name}: other columns than declared"
        yield from _of_columns(table)
    for fact in view.facts:
        yield from _of_fact(fact)
    for name, series in view.series.items():
        for line in series.lines:
            values = [*line.x, *(y for y in line.y if y is not None)]
            if len(line.x) != len(line.y) or not all(map(math.isfinite, values)):
                yield f"{name}, {line.name[:40]}: no finite points"


def _of_columns(table: Table) -> Iterator[str]:
    for column in table.spec.columns:
        values = table.frame[column.key]
        where = f"{table.spec.name}.{column.key}"
        if values.dtype == pl.Float64 and not values.drop_nulls().is_finite().all():
            yield f"{where} is not finite"
        least, most = (values.min(), values.max()) if values.dtype.is_numeric() else (None, None)
        yield from _of_range(where, column.key, column.unit, least, most)


def _of_fact(fact: Fact) -> Iterator[str]:
    where = f"fact {fact.key}"
    if fact.value is None and not fact.reason:
        yield f"{where} is null without a reason"
    if isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
        if not math.isfinite(fact.value):
            yield f"{where} is not finite"
        yield from _of_range(where, fact.key, fact.unit, fact.value, fact.value)


def _of_range(where: str, key: str, unit: str | None, least: object, most: object) -> Iterator[str]:
    if not isinstance(least, int | float) or not isinstance(most, int | float):
        return
    if unit is not None and least < -ROUNDING and not SIGNED.search(key):
        yield f"{where} is {least}, below zero"
    if unit == "pct" and most > 100 + ROUNDING and not BEYOND_100.search(key):
        yield f"{where} is {most} %"
