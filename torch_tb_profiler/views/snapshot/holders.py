"""Who holds memory at a moment: by call stack, and block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import (
    DeviceMoments,
    device_moments,
    live_allocations,
    row_at,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.snapshot.columns import ALIVE, BY_STACK
from torch_tb_profiler.views.snapshot.rows import (
    BEFORE,
    DEVICE,
    STILL,
    filled,
    hexadecimal,
    since_start,
    with_stacks,
)

MAX_STACKS = 1000
"""Call stacks of one device and moment that are listed, the largest first."""

MAX_ALIVE = 5000


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of one device: its name, and the event after which memory is looked at."""

    device: DeviceMoments
    name: str
    row: int


def moments_of(trace: Trace, time_ns: int | None) -> list[Moment]:
    """The moments that are looked at, per device.

    Args:
        trace: A snapshot.
        time_ns: One that was chosen, in trace time.
    """
    found = []
    for device in device_moments(trace):
        if device.peak >= 0:
            found.append(Moment(device, "peak", device.peak))
        if device.ooms:
            found.append(Moment(device, "oom", device.ooms[-1]))
        found.append(Moment(device, "end", device.last))
        if time_ns is not None:
            found.append(Moment(device, "chosen", row_at(trace, device, time_ns)))
    return found


def by_stack_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`BY_STACK`."""
    parts = [_by_stack(trace, moment) for moment in moments]
    empty = pl.DataFrame(
        schema={"device": pl.Int32, "moment": pl.String, "stack": pl.Int32,
                "size_bytes": pl.Int64, "blocks": pl.Int64, "pct": pl.Float64}
    )  # fmt: skip
    frame = pl.concat([empty, *parts]).with_columns(DEVICE)
    return filled(BY_STACK, with_stacks(trace, frame), {})


def _by_stack(trace: Trace, moment: Moment) -> pl.DataFrame:
    lived = lifetimes(trace)
    places = live_allocations(trace, moment.device, moment.row)
    alive = pl.DataFrame({"stack": lived.stack[places], "size_bytes": lived.size_bytes[places]})
    whole = max(int(alive["size_bytes"].sum()), 1)
    return (
        alive.group_by("stack")
        .agg(pl.col("size_bytes").sum(), pl.len().cast(pl.Int64).alias("blocks"))
        .sort("size_bytes", "stack", descending=[True, False])
        .head(MAX_STACKS)
        .select(
            pl.lit(moment.device.device, pl.Int32).alias("device"),
            pl.lit(moment.name).alias("moment"),
            "stack",
            "size_bytes",
            "blocks",
            (pl.col("size_bytes") / whole * 100).alias("pct"),
        )
    )


def alive_table(trace: Trace, moments: list[Moment]) -> Table:
    """The rows of :data:`ALIVE` of moments, one per device."""
    places = [live_allocations(trace, moment.device, moment.row) for moment in moments]
    frame = pl.concat([_alive(trace, part) for part in places or [np.empty(0, np.int64)]])
    reasons = {"allocation_us": BEFORE, "release_us": STILL}
    return filled(ALIVE, with_stacks(trace, hexadecimal(frame)), reasons)


def _alive(trace: Trace, places: Int64) -> pl.DataFrame:
    lived = lifetimes(trace)
    frame = (
        pl.DataFrame(
            {
                "device": lived.device[places],
                "address": lived.address[places],
                "size_bytes": lived.size_bytes[places],
                "stack": lived.stack[places],
                "born": lived.born[places],
                "died": lived.died[places],
            }
        )
        .sort("size_bytes", "address", descending=[True, False])
        .head(MAX_ALIVE)
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
