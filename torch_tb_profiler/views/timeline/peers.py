"""The same collective on the other workers of a run, matched by their summaries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.trace.model import Trace

MAX_PEERS = 16
"""Peers whose traces are opened: a run may have a thousand, of any size."""


class Peer(Struct, frozen=True):
    """The call of another worker, or a range of it, that is the same collective.

    Attributes:
        worker: Who made it.
        call: Slice of the call; None for one range of it.
        start_ns: Start of the range, or of the first of the call, on that worker's clock.
        end_ns: End of it, or of the last one.
    """

    worker: str
    call: int | None
    start_ns: int
    end_ns: int


def is_collective(trace: Trace, slice_id: int) -> bool:
    """Whether a slice is a call that communicates, or one of the ranges in which it does."""
    calls = records(trace)
    if (calls.frame["slice"] == slice_id).any():
        return True
    start = trace.slices["start_ns"][slice_id]
    end = start + trace.slices["dur_ns"][slice_id]
    return bool(((calls.start_ns == start) & (calls.end_ns == end)).any())


def peers_of(traces: Mapping[str, Trace], worker: str, own: Trace, slice_id: int) -> list[Peer]:
    """What on the other workers is the same collective as a slice of ``worker``: the calls of a
    call, the kernels of a kernel. Who arrived last comes first.

    Args:
        traces: All workers of the run, or their summaries.
        worker: Whose slice it is.
        own: The trace of that worker.
        slice_id: One of its slices.
    """
    matching = match(traces)
    number = matching.workers.index(worker)
    calls = matching.calls.filter(pl.col("match").is_not_null())
    call = calls.filter((pl.col("worker") == number) & (pl.col("slice") == slice_id))
    if call.height:
        members = _calls(matching, call["match"][0])
    else:
        start = own.slices["start_ns"][slice_id]
        members = _ranges(matching, number, start, start + own.slices["dur_ns"][slice_id])
    others = members.filter(pl.col("worker") != number).sort(
        pl.col("end_ns") - pl.col("start_ns"), "worker", nulls_last=True
    )
    return [
        Peer(matching.workers[at], of_call, start_ns, end_ns)
        for at, of_call, start_ns, end_ns in others.iter_rows()
    ]


_PEERS = ("worker", "slice", "start_ns", "end_ns")


def _calls(matching: Matching, number: int) -> pl.DataFrame:
    extents = matching.ranges.group_by("worker", "record").agg(
        first_ns=pl.col("start_ns").min(), end_ns=pl.col("end_ns").max()
    )
    return (
        matching.calls.filter(pl.col("match") == number)
        .join(extents, on=["worker", "record"], how="left")
        .with_columns(
            start_ns=pl.coalesce("first_ns", "start_ns"),
            end_ns=pl.coalesce("end_ns", "start_ns"),
        )
        .select(_PEERS)
    )


def _ranges(matching: Matching, number: int, start_ns: int, end_ns: int) -> pl.DataFrame:
    ranges = matching.ranges.filter(pl.col("match").is_not_null())
    own = ranges.filter(
        (pl.col("worker") == number)
        & (pl.col("start_ns") == start_ns)
        & (pl.col("end_ns") == end_ns)
    )
    same = ranges.join(own.head(1).select("match"), on="match")
    return same.with_columns(slice=pl.lit(None, pl.Int64)).select(_PEERS)


def slice_of(peer: Peer, trace: Trace) -> int | None:
    """The slice of the peer's trace that it is: its call; else the device work, else the host
    slice, with exactly the times of its range."""
    if peer.call is not None:
        return peer.call if peer.call < trace.slices.height else None
    for frame, column in ((trace.device_work, "slice"), (trace.slices, "id")):
        starts = frame["start_ns"].to_numpy()
        rows = np.flatnonzero(
            (starts == peer.start_ns) & (starts + frame["dur_ns"].to_numpy() == peer.end_ns)
        )
        if len(rows):
            return int(frame[column][int(rows[0])])
    return None
