"""Sums of calls over iterations, against sums over rows one by one."""

from __future__ import annotations

import math
import random
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shapes.calls import Calls, Coded
from torch_tb_profiler.views.shapes.columns import INSTANCES, TYPES
from torch_tb_profiler.views.shapes.over import instances_over, types_over
from torch_tb_profiler.views.shapes.view import shapes

Row = tuple[str, str, str, str | None, float]
"""Iteration, operator, type, shape, time (NaN: not told)."""


def made_up() -> list[Row]:
    """Calls of operators of which some have one shape, some several, some two types."""
    draw = random.Random(7)
    rows: list[Row] = []
    for _ in range(400):
        number = draw.randrange(12)
        kind = draw.choice("xy") if number == 3 else "xyz"[number % 3]
        shape = draw.choice([None, "[1]", "[2]"]) if number > 6 else "[1]"
        time = math.nan if draw.random() < 0.3 or number == 11 else float(draw.randrange(50))
        rows.append((str(draw.randrange(5)), f"op{number}", kind, shape, time))
    return rows


def coded(values: list[Any]) -> Coded:
    texts = sorted(set(values), key=str)
    return Coded(
        np.array([texts.index(each) for each in values]), pl.Series(texts, dtype=pl.String)
    )


def calls_of(rows: list[Row]) -> Calls:
    iteration, operator, kind, shape, time = zip(*rows, strict=True)
    return Calls(
        coded(list(iteration)),
        coded(list(operator)),
        coded(list(kind)),
        coded(list(shape)),
        np.array(time),
    )


def told(values: list[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def total(values: list[float]) -> float | None:
    return sum(told(values)) if told(values) else None


def figures(rows: list[Row], position: int, key: str) -> tuple[float | None, ...]:
    """Mean, least, most of the iterations' times, and shapes, of the rows with ``key``."""
    mine = [row for row in rows if row[position] == key]
    times = [total([row[4] for row in mine if row[0] == each]) for each in {row[0] for row in mine}]
    known = [time for time in times if time is not None]
    shaped = float(len({row[3] for row in mine} - {None}))
    return (fmean(known), min(known), max(known), shaped) if known else (None, None, None, shaped)


def brute(rows: list[Row], position: int, *, with_shapes: bool) -> set[tuple[Any, ...]]:
    keys = {(row[position], row[0], *((row[2], row[3]) if with_shapes else ())) for row in rows}
    result = set()
    for key in keys:
        mine = [
            row for row in rows
            if (row[position], row[0], *((row[2], row[3]) if with_shapes else ())) == key
        ]  # fmt: skip
        mean, *others = figures(rows, position, key[0])
        mean = None if mean is None else round(mean, 6)
        known = told([row[4] for row in mine])
        per_call = round(fmean(known), 6) if known else None
        result.add((*key, len(mine), total([row[4] for row in mine]), per_call, mean, *others))
    return result


def test_sums_are_those_of_the_rows() -> None:
    rows = made_up()
    over = [
        "calls", "time_us", "call_mean_us", "mean_us", "min_us", "max_us", "distinct_shapes"
    ]  # fmt: skip
    rounded = pl.col("call_mean_us", "mean_us").round(6)
    types = types_over(calls_of(rows)).with_columns(rounded)
    shown = types.select("type", "iteration", *over).rows()
    assert len(shown) == len(set(shown))
    assert set(shown) == brute(rows, 2, with_shapes=False)
    instances, distinct = instances_over(calls_of(rows))
    instances = instances.with_columns(rounded)
    shown = instances.select("name", "iteration", "type", "input_shapes", *over).rows()
    assert len(shown) == len(set(shown))
    assert set(shown) == brute(rows, 1, with_shapes=True)
    assert len(distinct) == 12


def test_rows_are_in_the_order_that_is_declared() -> None:
    calls = calls_of(made_up())
    for spec, rows in ((TYPES, types_over(calls)), (INSTANCES, instances_over(calls)[0])):
        frame = rows.select(list(spec.polars_schema()))
        assert in_default_order(Table(spec, frame, {})).frame.equals(frame)


def test_no_call_leaves_empty_tables_of_their_types() -> None:
    event = op("aten::mm", 110, 10)
    event["args"]["Input Dims"] = [[2, 3]]
    view = shapes(trace([step(1, 0, 100), step(2, 100, 100), event]), Selection(steps="1"))
    for table in view.tables.values():
        assert table.frame.height == 0
        assert table.frame.schema == table.spec.polars_schema()
