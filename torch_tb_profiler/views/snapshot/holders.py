"""Who holds memory at a moment: by call stack, and block by block."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import (
    NO_STACK,
    lifetimes,
    side_frame,
)
from torch_tb_profiler.analysis.memory.snapshot.metadata import size_by_metadata
from torch_tb_profiler.analysis.memory.snapshot.moments import (
    DeviceMoments,
    device_moments,
    live_allocations,
    row_at,
    size_by_stack,
)
from torch_tb_profiler.analysis.memory.snapshot.owners import block_owners, is_joined
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.snapshot.columns import BY_METADATA, BY_OWNER, BY_STACK, LIVE_BLOCKS
from torch_tb_profiler.views.snapshot.rows import (
    BEFORE,
    DEVICE,
    EARLIER,
    STILL,
    filled,
    hexadecimal,
    since_start,
    with_metadata,
    with_stacks,
)

MAX_STACKS = 1000
"""Call stacks of one device and moment that are listed, the largest first."""

MAX_LIVE_BLOCKS = 5000


class Moment(Struct, frozen=True):
    """A moment of one device: its name, and its last event."""

    device: DeviceMoments
    name: str
    row: int


def moments_of(trace: Trace, time_ns: int | None) -> list[Moment]:
    """The moments whose memory is listed, per device.

    Args:
        trace: A snapshot.
        time_ns: One that was chosen, in trace time.
    """
    moments = []
    for device in device_moments(trace):
        if device.peak >= 0:
            moments.append(Moment(device, "peak", device.peak))
        if device.ooms:
            moments.append(Moment(device, "oom", device.ooms[-1]))
        moments.append(Moment(device, "end", device.last))
        if time_ns is not None:
            moments.append(Moment(device, "chosen", row_at(trace, device, time_ns)))
    return moments


def by_stack_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`BY_STACK`."""
    parts = [_by_stack(trace, moment) for moment in moments]
    empty = pl.DataFrame(
        schema={"device": pl.Int32, "moment": pl.String, "stack": pl.Int32,
                "is_earlier": pl.Boolean, "size_bytes": pl.Int64, "blocks": pl.Int64,
                "pct": pl.Float64}
    )  # fmt: skip
    frame = pl.concat([empty, *parts]).with_columns(DEVICE)
    return filled(BY_STACK, with_stacks(trace, frame).with_columns(EARLIER), {})


def _by_stack(trace: Trace, moment: Moment) -> pl.DataFrame:
    return (
        size_by_stack(trace, moment.device, moment.row)
        .head(MAX_STACKS)
        .select(
            pl.lit(moment.device.device, pl.Int32).alias("device"),
            pl.lit(moment.name).alias("moment"),
            "stack",
            "is_earlier",
            "size_bytes",
            "blocks",
            "pct",
        )
    )


def by_owner_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`BY_OWNER`; none where no trace is joined."""
    empty = pl.DataFrame(schema=BY_OWNER.polars_schema()).with_columns(
        pl.col("device").cast(pl.Int32)
    )
    moments = moments if is_joined(trace) else []
    parts = [_by_owner(trace, moment).select(empty.columns) for moment in moments]
    return filled(BY_OWNER, pl.concat([empty, *parts]).with_columns(DEVICE), {})


def _by_owner(trace: Trace, moment: Moment) -> pl.DataFrame:
    rows = live_allocations(trace, moment.device, moment.row)
    size = pl.Series("size_bytes", lifetimes(trace).size_bytes[rows], dtype=pl.Int64)
    keys = ("operator", "module", "phase", "category")
    total = max(int(size.sum()), 1)
    return (
        block_owners(trace)[rows]
        .with_columns(size)
        .group_by(keys)
        .agg(pl.col("size_bytes").sum(), pl.len().cast(pl.Int64).alias("blocks"))
        .sort("size_bytes", *keys, descending=[True, *(False for _ in keys)])
        .head(MAX_STACKS)
        .with_columns(
            device=pl.lit(moment.device.device, pl.Int32),
            moment=pl.lit(moment.name, pl.String),
            pct=pl.col("size_bytes") / total * 100,
        )
    )


def by_metadata_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`BY_METADATA`."""
    parts = [
        size_by_metadata(trace, moment.device, moment.row)
        .head(MAX_STACKS)
        .with_columns(
            device=pl.lit(moment.device.device, pl.Int32), moment=pl.lit(moment.name, pl.String)
        )
        for moment in moments
    ]
    empty = pl.DataFrame(schema=BY_METADATA.polars_schema()).with_columns(
        pl.col("device").cast(pl.Int32)
    )
    frame = pl.concat([empty, *(part.select(empty.columns) for part in parts)])
    return filled(BY_METADATA, frame.with_columns(DEVICE), {})


def live_blocks_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`ALIVE` of moments, one per device."""
    rows = [live_allocations(trace, moment.device, moment.row) for moment in moments]
    frame = pl.concat([_live_blocks(trace, part) for part in rows or [np.empty(0, np.int64)]])
    reasons = {"allocation_us": BEFORE, "release_us": STILL}
    named = with_stacks(trace, hexadecimal(frame)).with_columns(EARLIER)
    return filled(LIVE_BLOCKS, with_metadata(trace, named, "born"), reasons)


def _live_blocks(trace: Trace, rows: Int64) -> pl.DataFrame:
    lived, owners = lifetimes(trace), block_owners(trace)[rows]
    frame = (
        pl.DataFrame(
            {
                "device": lived.device[rows],
                "address": lived.address[rows],
                "size_bytes": lived.size_bytes[rows],
                "stack": lived.stack[rows],
                "born": lived.born[rows],
                "died": lived.died[rows],
            }
        )
        .hstack(owners)
        .with_columns(is_earlier=(pl.col("stack") == NO_STACK) & (pl.col("born") < 0))
        .sort("size_bytes", "address", descending=[True, False])
        .head(MAX_LIVE_BLOCKS)
    )
    times = side_frame(trace, "snapshot_events")["time_ns"]
    known = {
        name: frame[name].set((frame[name] < 0) | (frame[name] >= len(times)), None)
        for name in ("born", "died")
    }
    return frame.with_columns(
        DEVICE,
        allocation_us=times.gather(known["born"]),
        release_us=times.gather(known["died"]),
    ).with_columns(
        since_start(trace, "allocation_us").alias("allocation_us"),
        since_start(trace, "release_us").alias("release_us"),
    )
