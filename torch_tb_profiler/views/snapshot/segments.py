"""The tables of segments, blocks and devices as the snapshot ends."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments
from torch_tb_profiler.analysis.memory.snapshot.owners import block_owners
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.snapshot.columns import BLOCKS, DEVICES, SEGMENTS
from torch_tb_profiler.views.snapshot.rows import (
    BEFORE,
    DEVICE,
    NOT_IN_SNAPSHOT,
    filled,
    hexadecimal,
    since_start,
    with_stacks,
)

NO_EVENTS = "The snapshot holds no event of this device."
FREE = "Only blocks in use have this value."
MAX_BLOCKS = 20_000
"""Blocks that a table holds at first; the rest is made when it is asked for itself."""

_IN_USE = pl.col("state") == "active_allocated"
_PENDING = pl.col("state") == "active_pending_free"
_FREE = pl.col("state") == "inactive"
_SUMS = (
    pl.col("size_bytes").filter(_IN_USE).sum().alias("allocated_bytes"),
    pl.col("size_bytes").filter(_PENDING).sum().alias("pending_free_bytes"),
    pl.col("size_bytes").filter(_FREE).max().fill_null(0).alias("largest_free_bytes"),
    (pl.col("size_bytes") - pl.col("requested_bytes"))
    .filter(_IN_USE)
    .sum()
    .alias("rounding_bytes"),
    _IN_USE.sum().alias("blocks"),
)


def segments_table(trace: Trace) -> Table:
    """The rows of :data:`SEGMENTS`."""
    segments = side_frame(trace, "snapshot_segments").with_row_index("segment")
    sums = side_frame(trace, "snapshot_blocks").group_by("segment").agg(_SUMS)
    joined = (
        segments.drop("allocated_bytes")
        .with_columns(pl.col("segment").cast(pl.Int32))
        .join(sums, on="segment", how="left")
        .with_columns(pl.col("allocated_bytes", "pending_free_bytes", "blocks").fill_null(0))
        .with_columns(free_bytes=_free("total_bytes"))
        .with_columns(used_pct=_share("allocated_bytes", "total_bytes"))
        .with_columns(DEVICE)
    )
    return filled(SEGMENTS, with_stacks(trace, hexadecimal(joined)), {})


def _free(whole: str) -> pl.Expr:
    return pl.col(whole) - pl.col("allocated_bytes") - pl.col("pending_free_bytes")


def _share(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole) * 100)


def blocks_table(trace: Trace) -> Table:
    """The rows of :data:`BLOCKS`; of many the largest first."""
    blocks = side_frame(trace, "snapshot_blocks").sort(
        "size_bytes", descending=True, nulls_last=True, maintain_order=True
    )
    if blocks.height <= MAX_BLOCKS:
        return _blocks(trace, blocks)
    first = _blocks(trace, blocks.head(MAX_BLOCKS))
    return Table(
        first.spec, first.frame, first.null_reasons, row_count=blocks.height,
        all_rows=lambda: _blocks(trace, blocks),
    )  # fmt: skip


def _blocks(trace: Trace, blocks: pl.DataFrame) -> Table:
    segments = side_frame(trace, "snapshot_segments").select(
        pl.int_range(pl.len(), dtype=pl.Int32).alias("segment"), pl.col("address").alias("begin")
    )
    frame = (
        blocks.join(segments, on="segment", how="left", maintain_order="left")
        .join(_born(trace), on=["device", "address"], how="left", maintain_order="left")
        .with_columns(
            DEVICE,
            offset_bytes=pl.col("address") - pl.col("begin"),
            allocation_us=pl.when(pl.col("state") != "inactive").then(
                since_start(trace, "time_ns")
            ),
            requested_bytes=pl.when(pl.col("state") != "inactive").then("requested_bytes"),
        )
    )
    reasons = {"allocation_us": f"{BEFORE} {FREE}", "requested_bytes": f"{NOT_IN_SNAPSHOT} {FREE}"}
    return filled(BLOCKS, with_stacks(trace, hexadecimal(frame)), reasons)


def _born(trace: Trace) -> pl.DataFrame:
    """When, and by which operators, the blocks were allocated that are in use in the end."""
    lived = lifetimes(trace)
    times = side_frame(trace, "snapshot_events")["time_ns"]
    chosen = (lived.died == len(times)) & (lived.born >= 0)
    return pl.DataFrame(
        {
            "device": lived.device[chosen],
            "address": lived.address[chosen],
            "time_ns": times.gather(lived.born[chosen]),
        },
        {"device": pl.Int32, "address": pl.Int64, "time_ns": pl.Int64},
    ).hstack(block_owners(trace).filter(pl.Series(chosen)))


def devices_table(trace: Trace) -> Table:
    """The rows of :data:`DEVICES`."""
    reserved = (
        side_frame(trace, "snapshot_segments")
        .group_by("device")
        .agg(pl.col("total_bytes").sum().alias("reserved_bytes"), pl.len().alias("segments"))
    )
    sums = side_frame(trace, "snapshot_blocks").group_by("device").agg(_SUMS)
    joined = (
        _peaks(trace)
        .join(reserved, on="device", how="left", maintain_order="left")
        .join(sums, on="device", how="left", maintain_order="left")
        .with_columns(
            pl.exclude("peak_allocated_bytes", "peak_reserved_bytes", "peak_us").fill_null(0)
        )
        .with_columns(inactive_bytes=_free("reserved_bytes"))
        .with_columns(fragmentation_pct=_share("inactive_bytes", "reserved_bytes"))
        .with_columns(DEVICE)
    )
    reasons = dict.fromkeys(("peak_allocated_bytes", "peak_reserved_bytes", "peak_us"), NO_EVENTS)
    reasons["fragmentation_pct"] = "Nothing is reserved."
    return filled(DEVICES, joined, reasons)


def _peaks(trace: Trace) -> pl.DataFrame:
    """Per device the most that it had, and how often memory ran out."""
    events = side_frame(trace, "snapshot_events")
    allocated, reserved = events["allocated_bytes"], events["reserved_bytes"]
    start_ns = trace.meta.start_ns
    rows = []
    for moments in device_moments(trace):
        peak = moments.peak
        part = reserved.slice(moments.first, moments.last - moments.first + 1)
        has = peak >= 0
        rows.append(
            (
                moments.device,
                int(allocated[peak]) if has else None,
                part.max(),
                (int(events["time_ns"][peak]) - start_ns) / 1000 if has else None,
                len(moments.ooms),
            )
        )
    schema = {
        "device": pl.Int32, "peak_allocated_bytes": pl.Int64, "peak_reserved_bytes": pl.Int64,
        "peak_us": pl.Float64, "ooms": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema, orient="row")
