"""Python's garbage collector holds up the step."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.host_marks import (
    host_marks,
    in_steps,
    lost_time,
    outermost_slices,
    slice_intervals,
)
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "garbage_collection"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Collections",
    "One row per Python function in which the collector ran, longest total time first.",
    (
        Column("function", "Function", "string", None, "The innermost Python function around it."),
        CALLS,
        TOTAL_US,
        Column("longest_us", "Longest", "number", "us", "Longest collection.", family="total"),
    ),
)
NO_FUNCTION = "No Python function was recorded around these collections."


def detect(context: Context) -> Finding | None:
    """Garbage collection takes more than the threshold of the step; if device work is recorded, in
    the time in which no device works.

    The gain is that time.
    """
    collections = _collections(context.trace)
    collecting = slice_intervals(collections)
    time = context.within_steps(lost_time(context.trace, collecting))
    lost_us = context.per_step_ns(time) / NS_PER_US
    share = context.share_pct(lost_us * NS_PER_US)
    collections = in_steps(context, collections)
    if share <= entry(CODE).threshold or collections.is_empty():
        return None
    collections = collections.with_columns(frame_code=_functions(context.trace, collections))
    rows = sum_calls(collections, "frame_code", longest_ns=pl.col("dur_ns").max())
    longest = collections.row(int(collections["dur_ns"].to_numpy().argmax()), named=True)
    requested_ns = context.per_step_ns(slice_intervals(host_marks(context.trace)["collect"]))
    start_ns = longest["start_ns"]
    return Finding(
        CODE,
        share,
        lost_us,
        values={
            "calls": collections.height,
            "longest": duration_text(longest["dur_ns"] / NS_PER_US),
        },
        evidence=build_table(
            EVIDENCE,
            rows.with_columns(
                function=context.texts(rows["frame_code"]),
                longest_us=microseconds(rows["longest_ns"]),
            ).head(MAX_ROWS),
            {"function": missing_reason(context.trace, "python", NO_FUNCTION)},
        ),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant="asked" if requested_ns * 2 > context.per_step_ns(collecting) else "default",
        time=time,
        spot=context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"]),
    )


def _functions(trace: Trace, collections: pl.DataFrame) -> pl.Series:
    """Name code of the Python function around each collection; -1 for a range or nothing."""
    parent = indices(collections["parent"])
    is_function = np.isin(gather(indices(trace.slices["category"]), parent), PYTHON_CATEGORIES)
    names = gather(indices(trace.slices["name_code"]), parent)
    return pl.Series(np.where(is_function, names, -1), dtype=pl.Int64)


@per_trace
def _collections(trace: Trace) -> pl.DataFrame:
    """The collections, including those that the program requested."""
    marks = host_marks(trace)
    return outermost_slices(pl.concat([marks["collection"], marks["collect"]]).sort("id"))
