"""The curves of the view ``shapes``: the time of types and of operators over the iterations."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.schema import Line, Series
from torch_tb_profiler.views.step_axis import step_axis

MAX_LINES = 8
MAX_POINTS = 2000
"""Of more iterations each nth is drawn."""


def curves(types: pl.DataFrame, instances: pl.DataFrame) -> dict[str, Series]:
    """Both charts by their stable names; without one that has fewer than two iterations with a
    time.

    Args:
        types: Rows of the table of types.
        instances: Rows of the table of operators.
    """
    charts = {
        "time_by_type": _time_over_iterations(types, "type", "Time by type over iterations"),
        "time_by_operator": _time_over_iterations(
            instances, "name", "Time by operator over iterations"
        ),
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def _time_over_iterations(rows: pl.DataFrame, key: str, title: str) -> Series | None:
    """The values of ``key`` with the most time, each a line; None without two iterations."""
    known = rows.select("key", key, "iteration", "time_us").drop_nulls(["time_us", key])
    iterations = known["iteration"].unique(maintain_order=True)
    if len(iterations) < 2:
        return None
    # An operator has several rows in an iteration in which its shapes differ.
    timed = known.group_by("key", "iteration", maintain_order=True).agg(
        pl.col("time_us").sum(), pl.col(key).first()
    )
    x = pl.DataFrame(
        {"iteration": iterations, "x": step_axis(iterations.to_list())},
        schema_overrides={"x": pl.Float64},
    ).sort("x")
    x = x.gather_every(-(-x.height // MAX_POINTS))
    most = (
        timed.group_by("key", maintain_order=True)
        .agg(pl.col("time_us").sum(), pl.col(key).first())
        .sort("time_us", descending=True, maintain_order=True)
        .head(MAX_LINES)
    )
    lines = []
    for number, name in most.select("key", key).iter_rows():
        of_name = timed.filter(pl.col("key") == number).select("iteration", "time_us")
        points = x.join(of_name, on="iteration", how="left", maintain_order="left")
        lines.append(Line(name, points["x"].to_list(), points["time_us"].to_list()))
    return Series(title, "line", "Iteration", None, "Time", "us", tuple(lines))
