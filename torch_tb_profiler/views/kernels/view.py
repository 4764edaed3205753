"""Kernels: what ran on the devices, by name or by name, operator and launch shape.

Definitions: peer-behaviour §5, with the departures of ``docs/metrics.md``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by, device_work_mask
from torch_tb_profiler.analysis.utilization import NO_KNOWN_KERNEL, TensorCoreTime
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
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
NO_KERNEL_TIME = "The selection holds no kernel time."

_CREDIBLE = {"blocks_per_sm": 1e12, "est_achieved_occupancy_pct": 100}
"""Measure → the largest value it can have; what lies beyond is no measurement."""
_LAUNCH = ("grid_code", "block_code", "registers_per_thread", "shared_memory_bytes")
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
        Column("total_us", "Total", "number", "us", "Summed duration."),
        Column("mean_us", "Mean", "number", "us", "Total divided by Calls."),
        Column("min_us", "Min", "number", "us", "Shortest duration."),
        Column("max_us", "Max", "number", "us", "Longest duration."),
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
    ),
    sort="-total_us,name",
)


def kernels(trace: Trace, selection: Selection) -> View:
    """The kernels of a selection.

    Raises:
        SelectionError: steps or grouping make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    rows = kernel_calls(trace)
    if not selection.is_everything:
        is_kernel = kernel_kinds(trace).is_kernel
        rows = rows.filter(device_work_mask(trace, selection)[is_kernel])
    keys = ["name_code"] if group_by == "name" else ["name_code", "operator_code", *_LAUNCH]
    weight = pl.when(pl.col("dur_ns").sum() > 0).then(pl.col("dur_ns")).otherwise(1)
    groups = rows.group_by(keys, maintain_order=True).agg(
        pl.col("tensor_core").first(),
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
        tables={KERNELS.name: in_default_order(_table(trace, groups))},
        facts=_facts(rows),
        notes=quality_notes(trace, LINK_ISSUES),
    )


@per_trace
def kernel_calls(trace: Trace) -> pl.DataFrame:
    """One row per kernel, in order of slice id, with its operator and verdicts; made once.

    Columns: name_code, operator_code (name of the owner), eligible (of the owner, null without
    one), tensor_core, dur_ns, blocks_per_sm and occupancy (null when absent or incredible), and
    the launch configuration.
    """
    kinds = kernel_kinds(trace)
    work = trace.device_work.filter(pl.Series(kinds.is_kernel))
    owner = indices(work["owner"])
    owned = pl.Series(owner >= 0)
    names = trace.slices["name_code"].to_numpy()
    eligible = eligible_slices(trace)
    calls: pl.DataFrame = work.select(
        "name_code",
        "dur_ns",
        *_LAUNCH,
        *(
            pl.when(pl.col(key).is_finite() & pl.col(key).is_between(0, most))
            .then(pl.col(key))
            .alias(key)
            for key, most in _CREDIBLE.items()
        ),
        tensor_core=pl.Series(kinds.tensor_core[kinds.is_kernel]),
        operator_code=pl.when(owned).then(pl.Series(names[owner])),
        eligible=pl.when(owned).then(pl.Series(eligible[owner])),
    )
    return calls


def _weighted_mean(key: str, weight: pl.Expr) -> pl.Expr:
    """Mean of the values there are, null when there is none."""
    weights = weight * pl.col(key).is_not_null().cast(pl.Int64)
    mean = (pl.col(key) * weight).sum() / weights.sum()
    return pl.when(weights.sum() > 0).then(mean)


def _table(trace: Trace, groups: pl.DataFrame) -> Table:
    nothing = pl.lit(None)
    by_launch = "operator_code" in groups.columns
    reasons = {
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


def _facts(rows: pl.DataFrame) -> tuple[Fact, ...]:
    total_ns = int(rows["dur_ns"].sum())
    return (
        Fact(
            "kernel_count",
            "Kernels",
            rows["name_code"].n_unique(),
            "count",
            None,
            "Different kernel names in the selection.",
        ),
        Fact("kernel_calls", "Kernel calls", rows.height, "count", None, "Kernels that ran."),
        Fact(
            "kernel_time_us",
            "Kernel time",
            total_ns / 1000,
            "us",
            None,
            "Summed duration of all kernels; kernels that run at the same time add up.",
        ),
        *_tensor_core_facts(rows),
    )


def _tensor_core_facts(rows: pl.DataFrame) -> tuple[Fact, ...]:
    """How the kernel time divides by what the names of the kernels tell."""
    by_verdict = dict(rows.group_by("tensor_core").agg(pl.col("dur_ns").sum()).rows())
    time = TensorCoreTime(*(by_verdict.get(v, 0) for v in (codes.YES, codes.NO, codes.UNKNOWN)))
    facts = (
        (
            "tensor_core_time_pct",
            "Kernel time using Tensor Cores",
            time.used_pct,
            "Share of kernel time in kernels that use Tensor Cores. Kernels no rule knows count "
            "as not using them, so it is a lower bound.",
        ),
        (
            "no_tensor_core_time_pct",
            "Kernel time not using Tensor Cores",
            time.unused_pct,
            "Share of kernel time in kernels that are known not to use Tensor Cores.",
        ),
        (
            "unknown_tensor_core_time_pct",
            "Kernel time of unknown Tensor Core use",
            time.unknown_pct if time.whole_ns else None,
            "Share of kernel time in kernels no rule knows.",
        ),
    )
    reason = NO_KNOWN_KERNEL if time.whole_ns else NO_KERNEL_TIME
    return tuple(
        Fact(key, title, value, "pct", None, text, reason if value is None else None)
        for key, title, value, text in facts
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
    tables=(KERNELS,),
    function=kernels,
    group_bys=GROUP_BYS,
    missing=_missing,
)
