"""Types of operators as a file of the recording sums them, for each kind of unit that ran them.

Definitions: ``docs/metrics.md#operator-types-as-recorded``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.recorded import SOURCE, recorded_frame, recorded_table
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec

NO_SINGLE = "The file does not list the operators of this type one by one."
NO_CALLS = "The file does not say how often these operators ran, so their total is unknown."

RECORDED_TYPES = TableSpec(
    "recorded_types",
    "Operator types as recorded",
    "One row per unit that ran operators (AI Core, AI CPU, host CPU) and type of operator, as "
    "summed in a file of the recording.",
    (
        Column("unit", "Runs on", "string", None, "AI Core, AI CPU, host CPU or library."),
        Column("type", "Type", "string", None, "Type of the operators."),
        Column("operators", "Operators", "integer", "count", "Number of operators.", additive=True),
        Column("calls", "Calls", "integer", "count", "How often they ran.", additive=True),
        Column("total_us", "Total", "number", "us", "Total time.", family="total", additive=True),
        Column("mean_us", "Mean", "number", "us", "Mean time per call.", family="call"),
        Column("min_us", "Min", "number", "us", "Time of the shortest call.", family="call"),
        Column("max_us", "Max", "number", "us", "Time of the longest call.", family="call"),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Share of the time as the file has it: of the unit, or (torch_npu) of all units. "
            "Without one in the file: of the sum of the unit's types.",
        ),
        SOURCE,
    ),
    sort="-total_us,unit,type",
    is_summary=True,
)

_KEY = ("unit", "type")


def recorded_types(trace: Trace) -> Table | None:
    """The table; None where no file of the recording sums operators."""
    frame = recorded_frame(trace, "recorded_operators")
    if frame is None:
        return None
    summed = frame.filter(pl.col("name").is_null())
    single = frame.filter(pl.col("name").is_not_null())
    # A unit of which only single operators are listed has the sums of these.
    added = _sums(single.join(summed, on="unit", how="anti", nulls_equal=True))
    rows = pl.concat((summed.drop("name"), added), how="diagonal").with_columns(_share())
    counts = single.group_by(_KEY).agg(operators=pl.len().cast(pl.Int64))
    rows = rows.join(counts, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    reasons = {"operators": NO_SINGLE, "calls": NO_CALLS, "total_us": NO_CALLS, "pct": NO_CALLS}
    return in_default_order(recorded_table(RECORDED_TYPES, rows, reasons))


def _sums(single: pl.DataFrame) -> pl.DataFrame:
    """Single operators by unit and type; null where one of them is."""
    known = {key: pl.col(key).is_not_null().all() for key in ("calls", "total_us")}
    rows = single.group_by(_KEY, maintain_order=True).agg(
        *(pl.when(whole).then(pl.col(key).sum()).alias(key) for key, whole in known.items()),
        pl.col("source").first(),
    )
    return rows.with_columns(mean_us=pl.col("total_us") / pl.col("calls"))


def _share() -> pl.Expr:
    """The share of the file; of a unit without any, of the sum of its types."""
    whole_us = pl.col("total_us").sum().over("unit")
    is_known = pl.col("total_us").is_not_null().all().over("unit") & (whole_us > 0)
    has_none = pl.col("pct").is_null().all().over("unit")
    own = pl.when(is_known).then(pl.col("total_us") / whole_us * 100)
    return pl.when(has_none).then(own).otherwise(pl.col("pct")).alias("pct")


def recorded_facts(table: Table) -> tuple[Fact, ...]:
    """The time of each unit, and its types."""
    units = table.frame.group_by("unit", maintain_order=True).agg(
        pl.col("total_us").sum(), pl.len().alias("types"), pl.col("total_us").count().alias("known")
    )
    return tuple(
        Fact(
            "recorded_operators_us",
            "Time of operators, as recorded",
            row["total_us"] if row["known"] else None,
            "us",
            row["unit"],
            f"Total time of its {row['types']:,} types of operators in {table.frame['source'][0]}.",
            None if row["known"] else NO_CALLS,
        )
        for row in units.iter_rows(named=True)
    )
