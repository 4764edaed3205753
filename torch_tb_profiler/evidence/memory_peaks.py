"""Memory peaks of GPUs relative to their capacity."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.knowledge.devices import GPU_TYPES
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column

COLUMNS = (
    Column("device", "GPU", "integer", None, "Number of the GPU in its process."),
    Column("name", "Name", "string", None, "Model."),
    Column(
        "total_allocated_bytes",
        "Peak allocated",
        "integer",
        "bytes",
        "Largest amount allocated at once.",
        family="memory",
    ),
    Column(
        "total_reserved_bytes",
        "Peak reserved",
        "integer",
        "bytes",
        "Largest amount reserved by the allocator at once.",
        family="memory",
    ),
    Column("memory_bytes", "Capacity", "integer", "bytes", "Memory of the GPU.", family="memory"),
    Column("used_pct", "Used", "number", "pct", "Peak allocated over capacity."),
)
REASONS = {
    "name": "The recording does not name the device.",
    "total_reserved_bytes": "The recording has no reserved memory.",
}


@per_trace
def memory_peaks(trace: Trace) -> pl.DataFrame:
    """Per GPU of known capacity the peaks of allocated and reserved memory in the recording, and
    the time of the first (``peak_ns``); the fullest GPU first."""
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
