"""The matrix of ranks, and its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from torch_tb_profiler.analysis.parallel.coordinates import AXES
from torch_tb_profiler.analysis.parallel.outliers import lines, rank_outliers
from torch_tb_profiler.analysis.ranks.locations import rank_locations
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.collectives import UNTIMED
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.scales import value_text
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.strategy.columns import MATRIX_LINES, MEASURE_COLUMNS, RANK_MATRIX
from torch_tb_profiler.views.strategy.dimensions import NO_MATCH

NO_STEP = "No selected step of this rank was recorded."
NO_MEMORY = "The recordings have no running totals of device memory."
FEW_OTHERS = "Fewer than three other ranks have the measure."
FEW_PEERS = "Fewer than three ranks of its pipeline stage have the measure."


def matrix_tables(
    traces: Mapping[str, Trace], coordinates: pl.DataFrame, measures: pl.DataFrame, measure: str
) -> tuple[Table, Table]:
    """The tables ``rank_matrix`` and ``matrix_lines``.

    Args:
        traces: In the order of the ranks.
        coordinates: Of the ranks (``rank_coordinates``).
        measures: Of the ranks (``rank_measures``), in the same order.
        measure: The chosen one.
    """
    column = MEASURE_COLUMNS[measure]
    ranks = pl.concat(
        [
            coordinates,
            measures.sort("worker").drop("worker"),
            rank_locations(traces).select("node"),
        ],
        how="horizontal",
    )
    ranks = ranks.with_columns(value=pl.col(column.key))
    ranks = ranks.with_columns(is_outlier=rank_outliers(ranks["value"], ranks["pipeline"]))
    table = ranks.select(
        pl.col(key).cast(dtype) for key, dtype in RANK_MATRIX.polars_schema().items()
    )
    reasons = {each.key: NO_STEP for each in MEASURE_COLUMNS.values()} | {
        "exposed_communication_us": UNTIMED,
        "wait_us": NO_MATCH,
        "memory_peak_bytes": missing_reason(next(iter(traces.values())), "memory", NO_MEMORY),
        "is_outlier": FEW_PEERS,
        "rank": "The rank was not recorded.",
        "node": "The machine was not recorded.",
    }
    matrix = Table(RANK_MATRIX, table, needed(table, reasons))
    divided = lines(ranks, [*AXES, "node"])
    divided = divided.with_columns(
        *(
            pl.col(key)
            .map_elements(partial(value_text, column.unit), return_dtype=pl.String)
            .alias(f"{key}_text")
            for key in ("median", "others")
        ),
        measure=pl.lit(column.title),
        unit=pl.lit(column.unit, pl.String),
    )
    shown = divided.select(
        pl.col(key).cast(dtype) for key, dtype in MATRIX_LINES.polars_schema().items()
    )
    few = {"is_outlier": FEW_OTHERS, "deviation_pct": "The median of the others is 0."}
    return matrix, Table(MATRIX_LINES, shown, needed(shown, few))
