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
from torch_tb_profiler.views.summary.columns import OPERATOR
from torch_tb_profiler.views.summed_rows import filled

NOT_OF_HOST = "Kernels, copies and memsets take no host time."
_PART = " / "
"""Stands between the parts of a path."""


def operator_table(
    trace: Trace, selection: Selection, *, by_thread: bool, with_parts: bool
) -> Table:
    """The rows of :data:`OPERATOR`: operators in default order, the parts of each below it.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups, cpu_ns, gpu_ns = operator_summary(trace, selection, by_thread=by_thread)
    path = _path("name")
    rows = with_times(groups, cpu_ns, gpu_ns).with_columns(
        path=path, parent=pl.lit(None, pl.String)
    )
    table = filled(OPERATOR, rows, time_reasons(trace))
    if not with_parts:
        return table
    parts = with_times(operator_parts(trace, selection, by_thread=by_thread), 0, 0)
    parts = parts.with_columns(parent=_path("operator"))
    own = table.frame.with_row_index("place").select(
        pl.col("path").alias("parent"),
        "place",
        *(pl.col(f"{side}_total_us").alias(f"outer_{side}_us") for side in SIDES),
    )
    below = parts.join(own, on="parent", how="inner", maintain_order="left")
    below = below.with_columns(
        pl.concat_str("parent", pl.lit(_PART), "kind", pl.lit(_PART), "name").alias("path"),
        *(
            pl.when(pl.col(f"outer_{side}_us") > 0)
            .then(pl.col(f"{side}_total_us") / pl.col(f"outer_{side}_us") * 100)
            .alias(f"{side}_pct")
            for side in SIDES
        ),
        is_device=(pl.col("kind") == "device"),
    ).sort(
        "place", "is_device", "cpu_total_us", "gpu_total_us", "name",
        descending=[False, False, True, True, False], nulls_last=True,
    )  # fmt: skip
    keys = list(OPERATOR.polars_schema())
    both = pl.concat(
        [
            table.frame.with_row_index("place").with_columns(level=pl.lit(0)),
            below.select(*keys, "place", level=pl.lit(1)),
        ],
        how="diagonal_relaxed",
    ).sort("place", "level", maintain_order=True)
    reasons = dict.fromkeys(side_keys("cpu"), NOT_OF_HOST) | time_reasons(trace)
    frame = both.select(pl.col(k).cast(dtype) for k, dtype in OPERATOR.polars_schema().items())
    needed = {key: reason for key, reason in reasons.items() if frame[key].null_count()}
    return Table(OPERATOR, frame, needed)


def _path(name: str) -> pl.Expr:
    """The operator that the column ``name`` names, of its thread where threads are apart."""
    return pl.concat_str("thread", name, separator=_PART, ignore_nulls=True)
