"""Calls of collectives that no other worker has."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.knowledge.kernel_names import short_names
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.collectives import NO_GROUP, NO_SIZE, UNTIMED, worker_names
from torch_tb_profiler.views.distributed.columns import UNMATCHED
from torch_tb_profiler.views.name_columns import DEMANGLED, SHORT, with_other_names
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

_REASONS = {
    "step": "The call is outside all steps.",
    "group": NO_GROUP,
    "sequence": "Collectives have no recorded sequence numbers.",
    "input_bytes": NO_SIZE,
    "duration_us": UNTIMED,
}


def unmatched_table(matching: Matching, traces: Mapping[str, Trace]) -> Table:
    """The ``unmatched`` table, in order of worker and time."""
    times = matching.ranges.group_by("worker", "record").agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("duration_ns")
    )
    began = dict(enumerate(traces[worker].meta.start_ns for worker in matching.workers))
    since = pl.col("start_ns") - pl.col("worker").replace_strict(began, return_dtype=pl.Int64)
    frame = (
        matching.calls.filter(pl.col("match").is_null())
        .join(times, on=["worker", "record"], how="left")
        .sort("worker", "record")
        .with_columns(
            worker=worker_names(matching),
            step=pl.col("step_name"),
            since_ns=since,
            reason=pl.col("unmatched_reason"),
        )
    )
    frame = frame.with_columns(
        start_us=microseconds(frame["since_ns"]),
        duration_us=microseconds(frame["duration_ns"]),
        **dict.fromkeys((SHORT, DEMANGLED), pl.lit(None, pl.String)),
    ).select(list(UNMATCHED.polars_schema()))
    table = Table(UNMATCHED, frame, needed(frame, _REASONS))
    return with_other_names(table, short_names(set(frame["name"].drop_nulls())))
