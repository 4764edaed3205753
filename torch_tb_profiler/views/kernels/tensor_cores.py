"""How the kernel time divides by whether kernels use Tensor Cores."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.tensor_core_time import (
    NO_COMPUTE_TIME,
    NO_KERNEL_TIME,
    BoundedShare,
    TensorCoreTime,
)
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

TENSOR_CORE_TIME = TableSpec(
    "tensor_core_time",
    "Tensor Core share of kernel time",
    "Kernel time of the selection, one row each for kernels that use Tensor Cores, do not, or "
    "are unknown.",
    (
        Column("use", "Tensor Cores", "string", None, "Whether the kernels use Tensor Cores."),
        Column("calls", "Calls", "integer", "count", "Number of kernel executions.", additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Summed duration of these kernels.",
            additive=True,
        ),
        Column("pct", "Share", "number", "pct", "Share of the time of all kernels.", additive=True),
        Column(
            "compute_pct",
            "Share of Compute",
            "number",
            "pct",
            "Share of the time of all kernels except communication kernels, which are left out.",
            additive=True,
        ),
    ),
    is_summary=True,
)
_USES = {codes.YES: "Used", codes.NO: "Not used", codes.UNKNOWN: "Unknown"}


def tensor_core_table(calls: pl.DataFrame) -> Table:
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
        of_whole(rows["dur_ns"], int(rows["dur_ns"].sum())).alias("pct"),
        of_whole(rows["compute_ns"], int(rows["compute_ns"].sum())).alias("compute_pct"),
    )
    reasons = {"pct": NO_KERNEL_TIME, "compute_pct": NO_COMPUTE_TIME}
    return Table(TENSOR_CORE_TIME, frame, needed(frame, reasons))


def tensor_core_facts(calls: pl.DataFrame) -> tuple[Fact, ...]:
    """Facts on the kernel time by Tensor Core use."""
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
        *_share_facts(
            "compute_tensor_core_time",
            "Compute time using Tensor Cores",
            time.used_of_compute,
            "Share of the time of kernels other than communication in kernels that use Tensor "
            "Cores.",
        ),
    )


def _share_facts(stem: str, title: str, share: BoundedShare, text: str) -> tuple[Fact, ...]:
    """A share as one number where nearly all of the time is known, and its bounds."""
    bounds = "Kernels of unknown use are counted as"
    return (
        Fact(
            f"{stem}_pct",
            title,
            share.pct,
            "pct",
            None,
            f"{text} Empty if the use is unknown for too much of the time.",
            share.null_reason,
        ),
        Fact(
            f"{stem}_min_pct",
            f"{title}, at least",
            share.least_pct,
            "pct",
            None,
            f"{text} {bounds} not using them.",
            share.reason,
        ),
        Fact(
            f"{stem}_max_pct",
            f"{title}, at most",
            share.most_pct,
            "pct",
            None,
            f"{text} {bounds} using them.",
            share.reason,
        ),
    )
