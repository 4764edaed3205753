"""Kernels: what ran on the devices, by name or by name, operator and launch shape.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.kernel_calls import LAUNCH_KEYS, selected_kernel_calls
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.analysis.tensor_core_time import (
    NO_COMPUTE_TIME,
    NO_KERNEL_TIME,
    Share,
    TensorCoreTime,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.name_columns import AS_RECORDED, DEMANGLED, OTHER_NAMES, other_names
from torch_tb_profiler.views.null_reasons import needed, not_grouped
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

GROUP_BYS = ("name", "name+operator+launch")

NO_RULE = "No rule knows whether this kernel uses Tensor Cores."
NO_OPERATOR = (
    "Its launch is not in the recording, or lies outside every operator and range of its thread."
)
NO_OPERATOR_RULE = "It has no operator, or no rule knows whether that could use Tensor Cores."
NOT_RECORDED = "The profiler did not record this for these kernels."
NOT_GROUPED = not_grouped("operator and launch", GROUP_BYS[1])

_OF_LAUNCH = (
    "operator",
    "grid",
    "block",
    "registers_per_thread",
    "shared_memory_bytes",
    "operator_tensor_core_eligible",
)
"""Columns that have values only when grouped by operator and launch."""

KERNELS = TableSpec(
    "kernels",
    "Kernels",
    "One row per kernel name, or per kernel name, operator and launch configuration.",
    (
        Column("name", "Name", "string", None, "Name of the kernel."),
        Column(
            "operator",
            "Operator",
            "string",
            None,
            "The innermost operator or range around the launch. Only when grouped by operator.",
        ),
        Column("grid", "Grid", "string", None, "Blocks of the launch in x, y, z."),
        Column("block", "Block", "string", None, "Threads of a block in x, y, z."),
        Column(
            "registers_per_thread",
            "Registers per Thread",
            "integer",
            "count",
            "Registers each thread uses.",
        ),
        Column(
            "shared_memory_bytes",
            "Shared Memory",
            "integer",
            "bytes",
            "Shared memory of a block.",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel runs on Tensor Cores (matrix units), told from its name.",
        ),
        Column(
            "operator_tensor_core_eligible",
            "Operator Eligible",
            "boolean",
            None,
            "Whether the operator, or one inside it, could use Tensor Cores.",
        ),
        Column("calls", "Calls", "integer", "count", "How often it ran."),
        Column("total_us", "Total", "number", "us", "Summed duration.", additive=True),
        Column("mean_us", "Mean", "number", "us", "Total divided by Calls.", family="call"),
        Column("min_us", "Min", "number", "us", "Shortest duration.", family="call"),
        Column("max_us", "Max", "number", "us", "Longest duration.", family="call"),
        Column(
            "mean_blocks_per_sm",
            "Mean Blocks per SM",
            "number",
            "ratio",
            "Blocks of the launch divided by the multiprocessors of the device, weighted by "
            "duration (evenly if all durations are 0). Below 1, multiprocessors stay idle.",
        ),
        Column(
            "mean_est_achieved_occupancy_pct",
            "Mean Achieved Occupancy",
            "number",
            "pct",
            "The profiler's estimate of active warps over the most a multiprocessor can hold, "
            "weighted by duration (evenly if all durations are 0).",
            estimated=True,
        ),
        Column(
            "communication",
            "Communication",
            "boolean",
            None,
            "Whether it moves data between devices: told from its name, from what the recording "
            "says of the collective, or from the range that launched it.",
        ),
        *OTHER_NAMES,
    ),
    sort="-total_us,name",
)

TENSOR_CORE_TIME = TableSpec(
    "tensor_core_time",
    "Tensor Core share of kernel time",
    "Kernel time of the selection by whether the kernel uses Tensor Cores; one row each.",
    (
        Column("use", "Tensor Cores", "string", None, "Whether the kernels use them."),
        Column("calls", "Calls", "integer", "count", "Kernels that ran."),
        Column("total_us", "Total", "number", "us", "Summed duration of these kernels."),
        Column("pct", "Share", "number", "pct", "Share of the time of all kernels."),
        Column(
            "compute_pct",
            "Share of Compute",
            "number",
            "pct",
            "Share of the time of all kernels but communication; those count as nothing here.",
        ),
    ),
    is_summary=True,
)
_USES = {codes.YES: "Used", codes.NO: "Not used", codes.UNKNOWN: "Not known"}


def kernels(trace: Trace, selection: Selection) -> View:
    """The kernels of a selection.

    Raises:
        SelectionError: steps or grouping make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    calls = selected_kernel_calls(trace, selection)
    keys = ["name_code"] if group_by == "name" else ["name_code", "operator_code", *LAUNCH_KEYS]
    weight = pl.when(pl.col("dur_ns").sum() > 0).then(pl.col("dur_ns")).otherwise(1)
    groups = calls.group_by(keys, maintain_order=True).agg(
        pl.col("tensor_core").first(),
        pl.col("is_communication").any().alias("communication"),
        pl.col("eligible").max(),
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("dur_ns").sum().alias("total_ns"),
        pl.col("dur_ns").min().alias("min_ns"),
        pl.col("dur_ns").max().alias("max_ns"),
        _weighted_mean("blocks_per_sm", weight).alias("mean_blocks_per_sm"),
        _weighted_mean("est_achieved_occupancy_pct", weight).alias(
            "mean_est_achieved_occupancy_pct"
        ),
    )
    return View(
        tables={
            KERNELS.name: in_default_order(_table(trace, groups)),
            TENSOR_CORE_TIME.name: _tensor_core_table(calls),
        },
        facts=_facts(calls),
        notes=quality_notes(trace, LINK_ISSUES),
    )


def _weighted_mean(key: str, weight: pl.Expr) -> pl.Expr:
    """Mean of the values there are, null when there is none."""
    weights = weight * pl.col(key).is_not_null().cast(pl.Int64)
    mean = (pl.col(key) * weight).sum() / weights.sum()
    return pl.when(weights.sum() > 0).then(mean)


def _table(trace: Trace, groups: pl.DataFrame) -> Table:
    nothing = pl.lit(None)
    by_launch = "operator_code" in groups.columns
    reasons = {
        DEMANGLED: AS_RECORDED,
        "tensor_core_used": NO_RULE,
        "mean_blocks_per_sm": NOT_RECORDED,
        "mean_est_achieved_occupancy_pct": NOT_RECORDED,
        **dict.fromkeys(_OF_LAUNCH, NOT_GROUPED),
    }
    launch: dict[str, pl.Series | pl.Expr] = dict.fromkeys(_OF_LAUNCH, nothing)
    if by_launch:
        launch = {
            "operator": codes.texts(trace, groups["operator_code"]),
            "grid": codes.texts(trace, groups["grid_code"]),
            "block": codes.texts(trace, groups["block_code"]),
            "registers_per_thread": groups["registers_per_thread"],
            "shared_memory_bytes": groups["shared_memory_bytes"],
            "operator_tensor_core_eligible": codes.verdict_column(groups["eligible"]),
        }
        reasons |= {
            "operator": NO_OPERATOR,
            "operator_tensor_core_eligible": NO_OPERATOR_RULE,
            **dict.fromkeys(
                ("grid", "block", "registers_per_thread", "shared_memory_bytes"), NOT_RECORDED
            ),
        }
    frame = groups.with_columns(
        *other_names(trace, groups["name_code"]),
        name=codes.texts(trace, groups["name_code"]),
        tensor_core_used=codes.verdict_column(groups["tensor_core"]),
        total_us=microseconds(groups["total_ns"]),
        mean_us=microseconds(groups["total_ns"], groups["calls"]),
        min_us=microseconds(groups["min_ns"]),
        max_us=microseconds(groups["max_ns"]),
        **launch,
    )
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in KERNELS.polars_schema().items())
    return Table(KERNELS, shown, needed(shown, reasons))


def _tensor_core_table(calls: pl.DataFrame) -> Table:
    """The rows of :data:`TENSOR_CORE_TIME`; none where no kernel ran."""
    of_compute = pl.col("dur_ns") * (~pl.col("is_communication")).cast(pl.Int64)
    by_use = calls.group_by("tensor_core").agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("dur_ns").sum(),
        of_compute.sum().alias("compute_ns"),
    )
    uses = pl.DataFrame(
        list(_USES.items()), schema={"tensor_core": pl.Int8, "use": pl.String}, orient="row"
    )
    uses = uses if calls.height else uses.clear()
    rows = uses.join(by_use, on="tensor_core", how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("calls", "dur_ns", "compute_ns").fill_null(0))
    frame = rows.select(
        "use",
        "calls",
        microseconds(rows["dur_ns"]).alias("total_us"),
        _share_of_all(rows["dur_ns"]).alias("pct"),
        _share_of_all(rows["compute_ns"]).alias("compute_pct"),
    )
    reasons = {"pct": NO_KERNEL_TIME, "compute_pct": NO_COMPUTE_TIME}
    return Table(TENSOR_CORE_TIME, frame, needed(frame, reasons))


def _share_of_all(ns: pl.Series) -> pl.Series:
    """The parts in % of their sum, null where that is 0."""
    whole_ns = int(ns.sum())
    return ns / whole_ns * 100 if whole_ns else pl.Series([None] * len(ns), dtype=pl.Float64)


def _facts(calls: pl.DataFrame) -> tuple[Fact, ...]:
    total_ns = int(calls["dur_ns"].sum())
    return (
        Fact(
            "kernel_count",
            "Kernels",
            calls["name_code"].n_unique(),
            "count",
            None,
            "Different kernel names in the selection.",
        ),
        Fact("kernel_calls", "Kernel calls", calls.height, "count", None, "Kernels that ran."),
        Fact(
            "kernel_time_us",
            "Kernel time",
            total_ns / 1000,
            "us",
            None,
            "Summed duration of all kernels; kernels that run at the same time add up.",
        ),
        *_tensor_core_facts(calls),
    )


def _tensor_core_facts(calls: pl.DataFrame) -> tuple[Fact, ...]:
    """How the kernel time divides by what the names of the kernels tell."""
    by_verdict = dict(calls.group_by("tensor_core").agg(pl.col("dur_ns").sum()).rows())
    communication_ns = int(calls.filter(pl.col("is_communication"))["dur_ns"].sum())
    used, unused, unknown = (
        by_verdict.get(verdict, 0) for verdict in (codes.YES, codes.NO, codes.UNKNOWN)
    )
    time = TensorCoreTime(used, unused, unknown, communication_ns)
    return (
        *_share_facts(
            "tensor_core_time",
            "Kernel time using Tensor Cores",
            time.used,
            "Share of all kernel time, communication included, in kernels that use Tensor Cores.",
        ),
        *_share_facts(
            "no_tensor_core_time",
            "Kernel time not using Tensor Cores",
            time.unused,
            "Share of all kernel time, communication included, in kernels that do not use Tensor "
            "Cores.",
        ),
        Fact(
            "unknown_tensor_core_time_pct",
            "Kernel time of unknown Tensor Core use",
            time.unknown_pct if time.whole_ns else None,
            "pct",
            None,
            "Share of kernel time in kernels no rule knows.",
            None if time.whole_ns else NO_KERNEL_TIME,
        ),
        *_share_facts(
            "compute_tensor_core_time",
            "Compute time using Tensor Cores",
            time.used_of_compute,
            "Share of the time of kernels other than communication in kernels that use Tensor "
            "Cores.",
        ),
    )


def _share_facts(stem: str, title: str, share: Share, text: str) -> tuple[Fact, ...]:
    """A share as one number where nearly all of the time is known, and its bounds."""
    bounds = "Kernels no rule knows count as"
    return (
        Fact(
            f"{stem}_pct",
            title,
            share.pct,
            "pct",
            None,
            f"{text} Only where nearly all of the time is in kernels that rules know.",
            share.why_none,
        ),
        Fact(
            f"{stem}_min_pct",
            f"{title}, at least",
            share.least_pct,
            "pct",
            None,
            f"{text} {bounds} none of them.",
            share.reason,
        ),
        Fact(
            f"{stem}_max_pct",
            f"{title}, at most",
            share.most_pct,
            "pct",
            None,
            f"{text} {bounds} one of them.",
            share.reason,
        ),
    )


def _missing(trace: Trace) -> str | None:
    if bool((trace.device_work["category"] == Category.KERNEL).any()):
        return None
    return "The recording holds no kernel (CPU-only, or the device was not profiled)."


SPEC = ViewSpec(
    name="kernels",
    title="Kernels",
    help="Which kernels take the devices' time, how well do they fill them, who launched them?",
    scope="trace",
    tables=(KERNELS, TENSOR_CORE_TIME),
    function=kernels,
    group_bys=GROUP_BYS,
    missing=_missing,
)
