"""The table of the device work of one operator, that of calls inside it below their operator.

Definitions: ``docs/metrics.md#device-work-of-an-operator``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.operator_work import OperatorChoice, operator_work
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.name_columns import AS_RECORDED, OTHER_NAMES, other_names
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

OPERATOR = "operator"
KINDS = {Category.MEMCPY: "copy", Category.MEMSET: "set"}
NO_KERNEL = "It is no kernel, or the Tensor Core use of this kernel is unknown."
NO_TIME = "The device work of the operator has no duration."


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="call")


OPERATOR_WORK = TableSpec(
    "operator_work",
    "Device work of an operator",
    "One row per kernel, copy or memset that the operator launched itself, and one per operator "
    "inside it that launched any, with a row for each below. Only with operator_id or operator.",
    (
        Column("row", "Row", "string", None, "Number of the row; unique."),
        Column("parent", "Parent", "string", None, "Row above.", hidden=True),
        Column(
            "name",
            "Name",
            "string",
            None,
            "Name of the kernel, copy or memset, or of the operator.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "kernel, copy or set (memset); operator: an inner operator, with the sums of what is "
            "below it.",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel runs on Tensor Cores (matrix units), inferred from its name.",
        ),
        Column("calls", "Calls", "integer", "count", "Number of executions."),
        Column("total_us", "Total", "number", "us", "Summed duration."),
        Column(
            "total_pct",
            "Share",
            "number",
            "pct",
            "Total as share of all device work of the operator.",
        ),
        _time("mean_us", "Mean", "Total divided by Calls."),
        _time("min_us", "Min", "Shortest duration."),
        _time("max_us", "Max", "Longest duration."),
        *OTHER_NAMES,
    ),
    tree=("row", "parent"),
    is_summary=True,
    when_empty="No operator is named (operator_id or operator), or neither it nor a call inside it "
    "launched a kernel, copy or memset in this selection.",
)


def operator_work_table(trace: Trace, choice: OperatorChoice | None, selected: Bools) -> Table:
    """The rows of :data:`OPERATOR_WORK`: those with the most time first, below each inner operator
    its own; none without a choice."""
    if choice is None:
        return Table(OPERATOR_WORK, pl.DataFrame(schema=OPERATOR_WORK.polars_schema()))
    work = operator_work(trace, choice, selected)
    kinds = [KINDS.get(Category(each), "kernel") for each in work["category"].to_list()]
    work = work.with_columns(
        codes.texts(trace, work["name_code"]).alias("name"),
        *other_names(trace, work["name_code"]),
        pl.Series("kind", kinds, pl.String),
        pl.lit(None, work.schema["inner_code"]).alias("of_inner"),
    )
    inner = (
        work.filter(pl.col("inner_code").is_not_null())
        .group_by("inner_code", maintain_order=True)
        .agg(
            pl.col("calls").sum(),
            pl.col("total_ns").sum(),
            pl.col("min_ns").min(),
            pl.col("max_ns").max(),
            pl.lit(codes.NO, work.schema["tensor_core"]).alias("tensor_core"),
        )
    )
    inner = inner.with_columns(
        name=codes.texts(trace, inner["inner_code"]), kind=pl.lit(OPERATOR), of_inner="inner_code"
    ).drop("inner_code")
    heads = inner.select(inner_code="of_inner", head_ns="total_ns")
    rows = pl.concat([inner, work], how="diagonal_relaxed").join(
        heads, on="inner_code", how="left", maintain_order="left"
    )
    head = pl.col("of_inner").fill_null(pl.col("inner_code"))
    is_below = pl.col("inner_code").is_not_null()
    rows = rows.sort(
        pl.col("head_ns").fill_null(pl.col("total_ns")),
        head.is_not_null(),
        head,
        ~is_below,
        "total_ns",
        descending=True,
        maintain_order=True,
    ).with_columns(row=pl.int_range(pl.len()).cast(pl.String))
    above = rows.select(inner_code="of_inner", parent="row").drop_nulls()
    rows = rows.join(above, on="inner_code", how="left", maintain_order="left")
    calls = rows["calls"]
    frame = rows.select(
        "row",
        "parent",
        "name",
        "kind",
        pl.when(pl.col("kind") == "kernel")
        .then(codes.verdict_column(rows["tensor_core"]))
        .alias("tensor_core_used"),
        "calls",
        microseconds(rows["total_ns"]).alias("total_us"),
        of_whole(rows["total_ns"], int(work["total_ns"].sum())).alias("total_pct"),
        microseconds(rows["total_ns"], calls).alias("mean_us"),
        microseconds(rows["min_ns"]).alias("min_us"),
        microseconds(rows["max_ns"]).alias("max_us"),
        *(column.key for column in OTHER_NAMES),
    )
    reasons = {"total_pct": NO_TIME, "tensor_core_used": NO_KERNEL, OTHER_NAMES[1].key: AS_RECORDED}
    return Table(OPERATOR_WORK, frame, needed(frame, reasons))
