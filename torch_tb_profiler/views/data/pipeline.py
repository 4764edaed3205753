"""The table of the pipeline's operations, and how its queues filled over time."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS
from torch_tb_profiler.views.data.bottleneck import Bottleneck, Pipeline
from torch_tb_profiler.views.data.columns import PIPELINE
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Line, Series, Table

MAX_POINTS = 1000
MAX_LINES = 12
"""So many queues are drawn: those of the last operations."""

_US_PER_MS = 1000

NO_QUEUE = "The operation has no output queue."
NO_CPU = "The CPU use of this operation was not recorded."
NO_TIME = "MindData reports queue fill, not operation times."
NO_BOTTLENECK = "The fill of the queues was not recorded."


def pipeline_rows(trace: Trace) -> pl.DataFrame:
    """The side table of the pipeline, empty where there is none."""
    side = trace.side.get("pipeline")
    return pl.DataFrame(schema=SIDE_SCHEMAS["pipeline"]) if side is None else side.frame


def pipeline_table(frame: pl.DataFrame, pipeline: Pipeline, bottlenecks: list[Bottleneck]) -> Table:
    """The operations, from the last to the first."""
    slow = {number for each in bottlenecks for number in each.operations}
    has_queues = any(pct is not None for pct in pipeline.queue_pct.values())
    order = pl.DataFrame(
        {
            "operation": list(pipeline.parents),
            "above": list(pipeline.parents.values()),
            "bottleneck": [number in slow if has_queues else None for number in pipeline.parents],
        },
        schema={"operation": pl.Int64, "above": pl.Int64, "bottleneck": pl.Boolean},
    )
    rows = order.join(
        frame.unique("operation", keep="first"), on="operation", maintain_order="left"
    ).with_columns(pl.col("operation").cast(pl.String), parent=pl.col("above").cast(pl.String))
    no_time = {key: pl.lit(None, pl.Float64) for key in ("time_mean_us", "busy_pct")}
    shown = rows.with_columns(**no_time).select(list(PIPELINE.polars_schema()))
    of_queue = ("queue_pct", "queue_mean", "queue_capacity", "queue_empty_pct")
    reasons = dict.fromkeys(of_queue, NO_QUEUE)
    reasons |= {"cpu_pct": NO_CPU, "bottleneck": NO_BOTTLENECK}
    reasons |= dict.fromkeys(no_time, NO_TIME)
    return Table(PIPELINE, shown, needed(shown, reasons))


def queue_fill_series(trace: Trace, frame: pl.DataFrame) -> Series:
    """Fill of the output queue of each operation over time."""
    side = trace.side.get("queue_sizes")
    lines: list[Line] = []
    for number, kind, capacity in frame.select("operation", "type", "queue_capacity").rows():
        if side is None or not capacity or len(lines) == MAX_LINES:
            continue
        rows = side.frame.filter(operation=number)
        shown = rows.gather_every(max(1, -(-rows.height // MAX_POINTS)))
        if shown.height > 1:
            x = (shown["time_us"] / _US_PER_MS).to_list()
            lines.append(Line(f"{kind} ({number})", x, (shown["size"] / capacity * 100).to_list()))
    return Series("Fill of the queues", "line", "Time in ms", None, "Fill", "pct", tuple(lines))
