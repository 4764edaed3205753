"""A device nearly ran out of memory (rule 7 in docs/advice.md)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context, gpu_list
from torch_tb_profiler.advice.evidence import filled
from torch_tb_profiler.advice.finding import Finding, Spot
from torch_tb_profiler.advice.program import trains
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.devices import GPU_TYPES
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "memory_near_limit"
COLUMNS = (
    Column("device", "GPU", "integer", None, "Number of the GPU in its process."),
    Column("name", "Name", "string", None, "Model."),
    Column(
        "total_allocated_bytes",
        "Peak allocated",
        "integer",
        "bytes",
        "The most that was allocated at once.",
        family="memory",
    ),
    Column(
        "total_reserved_bytes",
        "Peak reserved",
        "integer",
        "bytes",
        "The most that the allocator held at once.",
        family="memory",
    ),
    Column("memory_bytes", "Capacity", "integer", "bytes", "Memory of the GPU.", family="memory"),
    Column("used_pct", "Used", "number", "pct", "Peak allocated over capacity."),
)
EVIDENCE = TableSpec(
    CODE,
    "Peaks near the capacity",
    "One row per GPU above the threshold, the fullest first.",
    COLUMNS,
)
REASONS = {
    "name": "The recording does not name the device.",
    "total_reserved_bytes": "The recording does not say what was reserved.",
}


def detect(context: Context) -> Finding | None:
    """Peak allocated memory of a GPU exceeds the threshold of its capacity; all such are named.

    Host memory has no limit in a trace and is not looked at.
    """
    threshold = entry(CODE).threshold
    if not _may_be_near(context.trace, threshold):
        return None
    peaks = memory_peaks(context.trace).filter(pl.col("used_pct") > threshold)
    if peaks.is_empty():
        return None
    worst = peaks.row(0, named=True)
    return Finding(
        CODE,
        worst["used_pct"],
        None,
        variant="default" if trains(context.trace) else "inference",
        values={
            "gpus": gpu_list(sorted(peaks["device"].to_list())),
            "capacity_gb": worst["memory_bytes"] / 1024**3,
        },
        evidence=filled(EVIDENCE, peaks, REASONS),
        source={"view": "memory", "table": "memory_peaks"},
        architecture=context.architecture_name,
        spot=_around(context, worst["peak_ns"]),
    )


def _around(context: Context, moment_ns: int) -> Spot:
    """A hundredth of the mean step on both sides of a moment."""
    margin_ns = int(context.step_ns / 100)
    first_ns = max(moment_ns - margin_ns, context.trace.meta.start_ns)
    return context.spot(first_ns, moment_ns + margin_ns)


def _may_be_near(trace: Trace, threshold_pct: float) -> bool:
    """Whether any total that the recording holds is that much of the smallest GPU: a cheap no."""
    largest = trace.memory["total_allocated_bytes"].max()
    smallest = trace.devices.filter(pl.col("memory_bytes") > 0)["memory_bytes"].min()
    if not isinstance(largest, int) or not isinstance(smallest, int):
        return False
    return largest * 100 > smallest * threshold_pct


@per_trace
def memory_peaks(trace: Trace) -> pl.DataFrame:
    """Per GPU of known capacity the most that was allocated and reserved in the recording, and when
    (``peak_ns``), the fullest first."""
    records = memory_records(trace)
    gpus = {n: one.id for n, one in enumerate(records.devices) if one.type in GPU_TYPES}
    totals = pl.DataFrame(
        {
            "device": records.device,
            "total_allocated_bytes": records.allocated_bytes,
            "total_reserved_bytes": records.reserved_bytes,
            "time_ns": records.time_ns,
        }
    ).filter(pl.col("device").is_in(list(gpus)), records.has_totals)
    reserved, allocated = pl.col("total_reserved_bytes"), pl.col("total_allocated_bytes")
    return (
        totals.group_by("device", maintain_order=True)
        .agg(
            allocated.max(),
            reserved.filter(reserved != ABSENT).max(),
            peak_ns=pl.col("time_ns").get(allocated.arg_max()),
        )
        .with_columns(pl.col("device").replace_strict(gpus, return_dtype=pl.Int64))
        .join(trace.devices.select("device", "name", "memory_bytes"), on="device")
        .filter(pl.col("memory_bytes") > 0)
        .with_columns(used_pct=pl.col("total_allocated_bytes") / pl.col("memory_bytes") * 100)
        .sort("used_pct", descending=True)
    )
