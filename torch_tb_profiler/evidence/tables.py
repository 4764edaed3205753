"""Evidence tables: columns that several findings share, and how the tables are built.

An evidence table is declared like the tables of views. Each detector declares its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.knowledge.device_terms import DeviceTerms
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

CALLS = Column("calls", "Calls", "integer", "count", "Number of calls in the steps.")
TOTAL_US = Column("total_us", "Total time", "number", "us", "Durations in the steps, summed.")
TOTAL_BYTES = Column("total_bytes", "Total bytes", "integer", "bytes", "Bytes moved, summed.")
GPU = Column("gpu", "GPU", "integer", None, "Number of the GPU in its process.")
KERNEL = Column("kernel", "Kernel", "string", None, "Name of the kernel.")
COMPUTE_US_PER_STEP = Column(
    "compute_us_per_step",
    "Compute per step",
    "number",
    "us",
    "Time per step in which kernels other than communication run.",
)
OPERATOR = Column("operator", "Operator", "string", None, "The operator that launched it.")

NO_OPERATOR = "no operator launched it, or the recording does not link it to one"


def build_table(
    spec: TableSpec, frame: pl.DataFrame, reasons: Mapping[str, str] | None = None
) -> Table:
    """Build a declared table from a frame that has its columns, and maybe others.

    Args:
        spec: The declaration.
        frame: The rows, largest first.
        reasons: Column key → why its nulls are null; columns without nulls need none.
    """
    rows = frame.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    return Table(spec, rows, needed(rows, reasons or {}))


def sum_if_known(key: str) -> pl.Expr:
    """The sum of a column per group; null if no row of the group has a value."""
    return pl.when(pl.col(key).is_not_null().any()).then(pl.col(key).sum())


def sum_calls(slices: pl.DataFrame, *keys: str, **sums: pl.Expr) -> pl.DataFrame:
    """Sum slices by ``keys`` into ``calls`` and ``total_us``, longest total first.

    Args:
        slices: With a column ``dur_ns``.
        keys: Columns to group by.
        sums: Further columns of the result, as aggregations.
    """
    groups = (
        slices.group_by(keys, maintain_order=True)
        .agg(pl.len().alias("calls"), pl.col("dur_ns").sum(), **sums)
        .sort("dur_ns", descending=True, maintain_order=True)
    )
    return groups.with_columns(total_us=microseconds(groups["dur_ns"]))


def main_reason(rows: pl.DataFrame) -> str:
    """The ``reason`` of most of the time of rows; of equal times the first."""
    times = rows.group_by("reason", maintain_order=True).agg(pl.col("total_us").sum())
    return str(times.sort("total_us", descending=True, maintain_order=True)["reason"][0])


def localize(text: str, terms: DeviceTerms | None) -> str:
    """``text`` in the terms of the devices; None for NVIDIA's and unknown ones."""
    return text if terms is None else terms.localize(text)


def declaration(table: Table, terms: DeviceTerms | None = None) -> dict[str, object]:
    """The table without its rows as JSON values, like the declaration of a view's table."""
    columns = [
        replace(column, title=localize(column.title, terms), help=localize(column.help, terms))
        for column in table.spec.columns
    ]
    reasons = {key: localize(text, terms) for key, text in table.null_reasons.items()}
    return {
        "title": localize(table.spec.title, terms),
        "help": localize(table.spec.help, terms),
        "columns": [msgspec.to_builtins(column.payload()) for column in columns],
        "null_reasons": reasons,
    }
