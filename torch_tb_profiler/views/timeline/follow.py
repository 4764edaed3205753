"""Where a slice leads: from a launch to its work, from work to the next in its stream, and back to
what caused it. Step by step along the flow, with one key.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.model import Trace

StepKind = Literal[
    "work", "next_in_stream", "backward", "launch", "operator", "forward", "next_rank"
]


class Step(Struct, frozen=True):
    """A step from one slice to another of its trace."""

    kind: StepKind
    slice: int


def step_onward(trace: Trace, slice_id: int) -> Step | None:
    """Device work leads to the next work that starts in its stream; a call or operator to the first
    work it launched, itself or by what it calls; else a forward operator to its backward one."""
    work = trace.device_work
    own = work.filter(pl.col("slice") == slice_id)
    if own.height:
        return _next_in_stream(trace, own)
    launched = _first_launched(trace, slice_id)
    if launched is not None:
        return Step("work", launched)
    twins = trace.operators.filter(pl.col("forward") == slice_id)["slice"]
    return Step("backward", int(twins.min())) if len(twins) else None  # type: ignore[arg-type]


def step_back(trace: Trace, slice_id: int) -> Step | None:
    """Device work leads to its launch, a launch to the operator it belongs to, a backward operator
    to its forward one."""
    own = trace.device_work.filter(pl.col("slice") == slice_id)
    if own.height:
        launch, owner = own.select("launch", "owner").row(0)
        if launch is not None:
            return Step("launch", launch)
        return None if owner is None else Step("operator", owner)
    owners = trace.device_work.filter(pl.col("launch") == slice_id)["owner"].drop_nulls()
    if len(owners) and owners[0] != slice_id:
        return Step("operator", owners[0])
    forward = trace.operators.filter(pl.col("slice") == slice_id)["forward"].drop_nulls()
    return Step("forward", forward[0]) if len(forward) else None


def _next_in_stream(trace: Trace, own: pl.DataFrame) -> Step | None:
    """The work that starts next on the device and stream of the row ``own``; of equal starts the
    one with the greater id."""
    slice_id, device, stream, start_ns = own.select("slice", "device", "stream", "start_ns").row(0)
    later = trace.device_work.filter(
        pl.col("device").eq_missing(device)
        & pl.col("stream").eq_missing(stream)
        & (
            (pl.col("start_ns") > start_ns)
            | ((pl.col("start_ns") == start_ns) & (pl.col("slice") > slice_id))
        )
    )
    if not later.height:
        return None
    return Step("next_in_stream", later.sort("start_ns", "slice")["slice"][0])


def _first_launched(trace: Trace, slice_id: int) -> int | None:
    """The first to start of the work whose launch begins inside a slice of the host, on its
    thread."""
    slices = trace.slices
    track, start_ns, dur_ns = slices.select("track", "start_ns", "dur_ns").row(slice_id)
    work = trace.device_work.filter(pl.col("launch").is_not_null())
    launch = work["launch"].to_numpy()
    begun = slices["start_ns"].to_numpy()[launch]
    inside = (slices["track"].to_numpy()[launch] == track) & (begun >= start_ns)
    inside &= (begun < start_ns + dur_ns) | (launch == slice_id)
    rows = np.flatnonzero(inside)
    if not len(rows):
        return None
    first = rows[np.argmin(work["start_ns"].to_numpy()[rows])]
    return int(work["slice"][int(first)])
