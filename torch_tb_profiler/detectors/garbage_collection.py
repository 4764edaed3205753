"""Python's garbage collector holds up the step."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.host_marks import in_steps, lost_in, marks, outermost, time_of
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, calls_and_time, filled
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
    "One row per Python function in which the collector ran, those with most time first.",
    (
        Column("function", "Function", "string", None, "The innermost Python function around it."),
        CALLS,
        TOTAL_US,
        Column("longest_us", "Longest", "number", "us", "The longest of them.", family="total"),
    ),
)
NO_FUNCTION = "No Python function was recorded around these collections."


def detect(context: Context) -> Finding | None:
    """Garbage collection takes more than the threshold of the step, where devices work of the time
    in which none does.

    The gain is that time.
    """
    every = _collections(context.trace)
    time = context.within_steps(lost_in(context.trace, time_of(every)))
    lost_us = context.in_steps_ns(time) / NS_PER_US
    share = context.share_pct(lost_us * NS_PER_US)
    found = in_steps(context, every)
    if share <= entry(CODE).threshold or found.is_empty():
        return None
    found = found.with_columns(frame_code=_functions(context.trace, found))
    rows = calls_and_time(found, "frame_code", longest_ns=pl.col("dur_ns").max())
    longest = found.row(int(found["dur_ns"].to_numpy().argmax()), named=True)
    asked_ns = context.in_steps_ns(time_of(marks(context.trace)["collect"]))
    start_ns = longest["start_ns"]
    return Finding(
        CODE,
        share,
        lost_us,
        values={
            "calls": found.height,
            "longest": duration_text(longest["dur_ns"] / NS_PER_US),
        },
        evidence=filled(
            EVIDENCE,
            rows.with_columns(
                function=context.texts(rows["frame_code"]),
                longest_us=microseconds(rows["longest_ns"]),
            ).head(MAX_ROWS),
            {"function": missing_reason(context.trace, "python", NO_FUNCTION)},
        ),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant="asked" if asked_ns * 2 > context.in_steps_ns(time_of(every)) else "default",
        time=time,
        spot=context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"]),
    )


def _functions(trace: Trace, collections: pl.DataFrame) -> pl.Series:
    """Per collection the code of the name of the Python function around it, -1 where that is a
    range or nothing."""
    parent = indices(collections["parent"])
    is_function = np.isin(gather(indices(trace.slices["category"]), parent), PYTHON_CATEGORIES)
    names = gather(indices(trace.slices["name_code"]), parent)
    return pl.Series(np.where(is_function, names, -1), dtype=pl.Int64)


@per_trace
def _collections(trace: Trace) -> pl.DataFrame:
    """The collections, those the program asked for too."""
    of_kind = marks(trace)
    return outermost(pl.concat([of_kind["collection"], of_kind["collect"]]).sort("id"))
