"""The table of operators with their parts.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.summaries.calls import SIDES
from torch_tb_profiler.analysis.operators.summaries.operators import (
    operator_parts,
    operator_summary,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.call_times import side_keys, time_reasons, with_times
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.summary.columns import NO_FLOPS, NOT_OF_HOST, OPERATOR, PART
from torch_tb_profiler.views.summary.flops import with_flops
from torch_tb_profiler.views.summed_rows import filled


def operator_table(
    trace: Trace, selection: Selection, *, by_thread: bool, with_parts: bool
) -> Table:
    """The rows of :data:`OPERATOR`: operators in default order, the parts of each below it.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups = operator_summary(trace, selection, by_thread=by_thread)
    path = _path("name")
    rows = with_times(groups, 0, 0).with_columns(
        path=path, parent=pl.lit(None, pl.String), rank=pl.int_range(pl.len())
    )
    rows = rows.with_columns(
        pl.when(pl.col(f"{side}_whole_ns") > 0)
        .then(pl.col(f"{side}_total_ns") / pl.col(f"{side}_whole_ns") * 100)
        .alias(f"{side}_pct")
        for side in SIDES
    )
    rows = with_flops(rows, trace, selection, by_thread=by_thread)
    table = filled(OPERATOR, rows, {**time_reasons(trace), "flops": NO_FLOPS})
    if not with_parts:
        return table
    parts = with_times(operator_parts(trace, selection, by_thread=by_thread), 0, 0)
    parts = parts.with_columns(parent=_path("operator"))
    own = table.frame.with_row_index("row_place").select(
        pl.col("path").alias("parent"),
        "row_place",
        *(pl.col(f"{side}_total_us").alias(f"outer_{side}_us") for side in SIDES),
    )
    below = parts.join(own, on="parent", how="inner", maintain_order="left")
    below = below.with_columns(
        pl.concat_str("parent", pl.lit(PART), "kind", pl.lit(PART), "name").alias("path"),
        *(
            pl.when(pl.col(f"outer_{side}_us") > 0)
            .then(pl.col(f"{side}_total_us") / pl.col(f"outer_{side}_us") * 100)
            .alias(f"{side}_pct")
            for side in SIDES
        ),
        is_device=(pl.col("kind") == "device"),
        flops=pl.lit(None, pl.Float64),
        rank=pl.lit(None, pl.Int64),
    ).sort(
        "row_place", "is_device", "cpu_total_us", "gpu_total_us", "name",
        descending=[False, False, True, True, False], nulls_last=True,
    )  # fmt: skip
    keys = list(OPERATOR.polars_schema())
    both = pl.concat(
        [
            table.frame.with_row_index("row_place").with_columns(level=pl.lit(0)),
            below.select(*keys, "row_place", level=pl.lit(1)),
        ],
        how="diagonal_relaxed",
    ).sort("row_place", "level", maintain_order=True)
    reasons = dict.fromkeys(side_keys("cpu"), NOT_OF_HOST) | time_reasons(trace)
    reasons["flops"] = NO_FLOPS
    frame = both.select(pl.col(k).cast(dtype) for k, dtype in OPERATOR.polars_schema().items())
    needed = {key: reason for key, reason in reasons.items() if frame[key].null_count()}
    return Table(OPERATOR, frame, needed)


def _path(name: str) -> pl.Expr:
    """The operator that the column ``name`` names, of its thread where threads are apart."""
    return pl.concat_str("thread", name, separator=PART, ignore_nulls=True)
