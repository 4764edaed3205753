"""The collectives of the steps as evidence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.tables import CALLS, build_table, sum_if_known
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.collectives import NO_GROUP, NO_SIZE, UNTIMED
from torch_tb_profiler.views.schema import Column, Table, TableSpec

MAX_ROWS = 10

COLUMNS = (
    Column("name", "Collective", "string", None, "The collective as the backend calls it."),
    Column("group", "Group", "string", None, "Process group, with its description."),
    CALLS,
    Column(
        "total_us",
        "Total time",
        "number",
        "us",
        "Time in which it ran; concurrent calls count once.",
    ),
    Column("total_bytes", "Total bytes", "integer", "bytes", "Known bytes of the inputs."),
    Column("sized_calls", "Sized calls", "integer", "count", "Calls whose bytes are recorded."),
)

REASONS = {"group": NO_GROUP, "total_us": UNTIMED, "total_bytes": NO_SIZE}


def collective_table(code: str) -> TableSpec:
    """The evidence table of a finding about collectives."""
    return TableSpec(
        code,
        "Collectives",
        "One row per collective and process group in the steps, longest first.",
        COLUMNS,
    )


def summarize_collectives(context: Context, spec: TableSpec) -> Table:
    """Sum the collectives that start in the steps by name and group, longest first.

    As in the ``collectives`` table, concurrent calls count once.
    """
    known = records(context.trace)
    calls = known.frame.filter(
        pl.Series(context.inside(known.frame["start_ns"].to_numpy()))
    ).with_columns(
        row=pl.concat_str("name", pl.col("group").fill_null(""), separator="\n")
        .rank("dense")
        .cast(pl.Int64)
        - 1
    )
    rows = (
        calls.group_by("row")
        .agg(
            pl.col("name", "group").first(),
            pl.len().alias("calls"),
            sum_if_known("input_bytes").alias("total_bytes"),
            pl.col("input_bytes").count().alias("sized_calls"),
        )
        .sort("row")
    )
    ranges = pl.DataFrame(
        {"record": known.record, "start_ns": known.start_ns, "end_ns": known.end_ns}
    ).join(calls.select("record", "row"), on="record")
    total_ns = union_lengths(
        ranges["row"].to_numpy(),
        ranges["start_ns"].to_numpy(),
        ranges["end_ns"].to_numpy(),
        rows.height,
    )
    timed = pl.col("row").is_in(ranges["row"].unique().implode())
    rows = rows.with_columns(total_ns=pl.when(timed).then(pl.Series(total_ns))).sort(
        "total_ns", "name", descending=[True, False], nulls_last=True
    )
    longest = rows.with_columns(total_us=microseconds(rows["total_ns"])).head(MAX_ROWS)
    return build_table(spec, longest, REASONS)
