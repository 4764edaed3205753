"""Total, mean, least and most over iterations, of the nodes of a tree or of folded ones."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.operators.hierarchies.times import MEASURES, NodeMeasure, NodeTimes
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.groups.columns import FIGURES


def figures(times: NodeTimes, of_node: Int64, count: int) -> pl.DataFrame:
    """Per row ``{measure}_{figure}_us`` of all measures, and ``iterations``, in how many it ran.

    Args:
        times: Times of nodes.
        of_node: Row of each node; nodes of one row are added up.
        count: How many rows there are.
    """
    iterations = max(len(times.windows.names), 1)
    columns: list[pl.Series] = []
    ran = [np.zeros(0, np.int64)]
    for measure in MEASURES:
        keys, ns = _pairs(times.measures[measure], of_node, iterations)
        columns += _figures(measure, keys // iterations, ns, count, iterations)
        ran.append(keys)
    rows = distinct_values(np.concatenate(ran)) // iterations
    present = pl.Series("iterations", np.bincount(rows, minlength=count).astype(np.int64))
    return pl.DataFrame([*columns, present])


def totals_ns(measure: NodeMeasure, of_node: Int64, count: int) -> Int64:
    """Per row the time in all iterations."""
    total = np.zeros(count, np.int64)
    np.add.at(total, of_node[measure.node], measure.ns)
    return total


def _pairs(measure: NodeMeasure, of_node: Int64, iterations: int) -> tuple[Int64, Int64]:
    """Row and iteration as one key, each once and ascending, and the time there."""
    keys, pair = factorize(of_node[measure.node] * iterations + measure.iteration)
    ns = np.zeros(len(keys), np.int64)
    np.add.at(ns, pair.reshape(-1), measure.ns)
    return keys, ns


def _figures(measure: str, row: Int64, ns: Int64, count: int, iterations: int) -> list[pl.Series]:
    total, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
    least = np.full(count, np.iinfo(np.int64).max)
    np.add.at(total, row, ns)
    np.maximum.at(most, row, ns)
    np.minimum.at(least, row, ns)
    least[np.bincount(row, minlength=count) < iterations] = 0
    values = {"total": total, "mean": total, "min": least, "max": most}
    return [
        microseconds(pl.Series(values[figure]), iterations if figure == "mean" else 1).alias(
            f"{measure}_{figure}_us"
        )
        for figure in FIGURES
    ]
