"""Long kernels that run far below their roofline limit."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import union
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.efficiency.groups import grouped, selected_calls
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import CALLS, OPERATOR, TOTAL_US, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.knowledge.formulas import KINDS
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "far_from_roof"
EVIDENCE = TableSpec(
    CODE,
    "Operators far from their roofline",
    "One row per operator and input shape, longest total time first.",
    (
        OPERATOR,
        Column("input_shapes", "Input Shapes", "string", None, "Shapes of the inputs."),
        CALLS,
        TOTAL_US,
        Column(
            "roof_pct",
            "Of the roofline",
            "number",
            "pct",
            "Time of its FLOPs and bytes at the peak rates of the device, over its measured time.",
            estimated=True,
        ),
    ),
)

NO_SHAPES = "the recording has no shapes of these calls"

_GROUPING = "operator+input_shape"
_SUMS = ("calls", "time_ns", "kernels", "roof_ns", "roof_time_ns")

WORK = ("matrix", "convolution", "attention", "normalization", "elementwise", "copy")
"""Kinds of work that libraries run near the roofline. Sorting, lookups and losses are not among
them: they read their data several times, or in random order."""


def detect(context: Context) -> Finding | None:
    """Operators with long kernels that reach less than a fifth of their roofline limit take more
    than the threshold of the step.

    What a better kernel reaches is unknown, so no gain is estimated; at stake is their time above
    that at the roofline limit.
    """
    known = entry(CODE)
    mask = _in_steps(context)
    groups = grouped(context.trace, _GROUPING, mask, sums=_SUMS)
    longer = pl.col("time_ns") >= efficiency_file().latency_kernel_us * NS_PER_US * pl.col(
        "kernels"
    )
    roof_pct = pl.col("roof_ns") / pl.col("roof_time_ns") * 100
    kinds = [KINDS.index(name) for name in WORK]
    slow = (
        groups.with_columns(roof_pct=roof_pct)
        .filter(
            longer,
            pl.col("roof_time_ns") > 0,
            pl.col("roof_pct") < known.parameters["max_roof_pct"],
            pl.col("kind").list.first().is_in(kinds),
        )
        .sort("time_ns", descending=True, maintain_order=True)
    )
    share = context.share_pct(context.per_step(float(slow["time_ns"].sum())))
    if share <= known.threshold:
        return None
    rows = slow.with_columns(
        operator=context.texts(slow["name_code"]),
        input_shapes=context.texts(slow["input_shape_code"]),
        total_us=microseconds(slow["time_ns"]),
    ).head(int(known.parameters["max_rows"]))
    first = rows.row(0, named=True)
    left_ns = float((slow["roof_time_ns"] - slow["roof_ns"]).sum())
    work = _work_of(context, mask, slow)
    longest = work.row(int(work["dur_ns"].arg_max() or 0), named=True)
    return Finding(
        CODE,
        share,
        None,
        evidence=build_table(EVIDENCE, rows, {"input_shapes": NO_SHAPES}),
        values={
            "operator": first["operator"],
            "shapes": first["input_shapes"] or "unknown shapes",
            "roof": first["roof_pct"],
            "limit": known.parameters["max_roof_pct"],
        },
        source={
            "view": "efficiency",
            "table": "operators",
            "group_by": _GROUPING,
            "sort": "-recoverable_us",
        },
        architecture=context.architecture_name,
        time=context.within_steps(
            union(
                work["start_ns"].to_numpy(), work["start_ns"].to_numpy() + work["dur_ns"].to_numpy()
            )
        ),
        spot=context.spot(
            longest["start_ns"], longest["start_ns"] + longest["dur_ns"], longest["slice"]
        ),
        at_stake_us=context.per_step(left_ns) / NS_PER_US,
    )


def _in_steps(context: Context) -> Bools:
    """Mask of the holding calls in the selected steps."""
    steps = slice_steps(context.trace)[holding_calls(context.trace).slice]
    inside: Bools = np.append(context.windows.of_step, -1)[steps] >= 0
    return inside & selected_calls(context.trace, context.selection)


def _work_of(context: Context, mask: Bools, groups: pl.DataFrame) -> pl.DataFrame:
    """The device work of the calls of some groups."""
    keys = ["name_code", "input_shape_code"]
    calls = operator_calls(context.trace)[holding_calls(context.trace).row].select(keys)
    rows = calls.with_columns(row=holding_calls(context.trace).row).filter(pl.Series(mask))
    chosen = rows.join(groups.select(keys), on=keys, how="semi")["row"].to_numpy()
    is_chosen = np.zeros(operator_calls(context.trace).height + 1, np.bool_)
    is_chosen[chosen] = True
    work: pl.DataFrame = context.trace.device_work.filter(
        pl.Series(is_chosen[work_holders(context.trace)])
    )
    return work
