"""How long the types with most time took, iteration by iteration."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.schema import Line, Series

MAX_LINES = 8
MAX_POINTS = 2000
"""Of more iterations each nth is drawn."""


def type_series(types: pl.DataFrame) -> Series | None:
    """The curves; None where fewer than two iterations have a time.

    Args:
        types: Rows of the table of types.
    """
    timed = types.filter(pl.col("time_us").is_not_null(), pl.col("type").is_not_null())
    iterations = timed["iteration"].unique(maintain_order=True)
    if len(iterations) < 2:
        return None
    numbers = iterations.cast(pl.Float64, strict=False)
    positions = pl.Series(
        [float(position) for position in range(len(iterations))], dtype=pl.Float64
    )
    x = pl.DataFrame(
        {"iteration": iterations, "x": positions if numbers.null_count() else numbers}
    ).sort("x")
    x = x.gather_every(-(-x.height // MAX_POINTS))
    most = timed.group_by("type", maintain_order=True).agg(pl.col("time_us").sum())
    names = most.sort("time_us", descending=True, maintain_order=True)["type"].head(MAX_LINES)
    lines = []
    for name in names.to_list():
        of_type = timed.filter(type=name).select("iteration", "time_us")
        points = x.join(of_type, on="iteration", how="left", maintain_order="left")
        lines.append(Line(name, points["x"].to_list(), points["time_us"].to_list()))
    return Series(
        "Time by type over iterations", "line", "Iteration", None, "Time", "us", tuple(lines)
    )
