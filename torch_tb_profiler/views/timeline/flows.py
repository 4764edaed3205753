"""The arrows of one slice: to and from device work, forward and backward, and other ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed_matching import match

FlowKind = Literal["launch", "forward_backward", "collective"]

MAX_FLOWS = 100
"""Arrows of one slice that are drawn; one graph launch owns hundreds of kernels."""


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow between two slices of one trace."""

    kind: FlowKind
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Peer:
    """The slice of another worker that is the same collective."""

    worker: str
    slice: int


def flows_of(trace: Trace, slice_id: int) -> list[Flow]:
    """All arrows of a slice, nearest target first: a launch and its device work, those of an
    operator's own launches, a forward operator and its backward ones."""
    work = trace.device_work.select(source="launch", target="slice", owner="owner").filter(
        pl.col("source").is_not_null()
        & (
            (pl.col("source") == slice_id)
            | (pl.col("target") == slice_id)
            | (pl.col("owner") == slice_id)
        )
    )
    twins = (
        trace.operators.select(source="forward", target="slice")
        .drop_nulls()
        .filter((pl.col("source") == slice_id) | (pl.col("target") == slice_id))
    )
    found = [Flow("launch", source, target) for source, target, _ in work.iter_rows()]
    found += [Flow("forward_backward", source, target) for source, target in twins.iter_rows()]
    start = trace.slices["start_ns"]
    here = start[slice_id]

    def distance(flow: Flow) -> int:
        other = flow.source if flow.target == slice_id else flow.target
        away: int = abs(start[other] - here)
        return away

    return sorted(found, key=distance)


def peers_of(traces: Mapping[str, Trace], worker: str, slice_id: int) -> list[Peer]:
    """The slices of the other workers that are the same collective as a slice of ``worker``: a
    host range those of the calls, a kernel those of the kernels."""
    matching = match(traces)
    names = matching.workers
    own = traces[worker]
    start, dur = own.slices["start_ns"][slice_id], own.slices["dur_ns"][slice_id]
    calls = matching.calls.filter(pl.col("match").is_not_null())
    number = names.index(worker)
    same = calls.filter((pl.col("worker") == number) & (pl.col("slice") == slice_id))
    if same.height:
        others = calls.filter((pl.col("match") == same["match"][0]) & (pl.col("worker") != number))
        return [Peer(names[at], peer) for at, peer in others.select("worker", "slice").iter_rows()]
    ranges = matching.ranges.filter(pl.col("match").is_not_null())
    same = ranges.filter(
        (pl.col("worker") == number)
        & (pl.col("start_ns") == start)
        & (pl.col("end_ns") == start + dur)
    )
    if not same.height:
        return []
    others = ranges.filter((pl.col("match") == same["match"][0]) & (pl.col("worker") != number))
    found = []
    for at, begin, end in others.select("worker", "start_ns", "end_ns").iter_rows():
        peer = _work_at(traces[names[at]], begin, end)
        if peer is not None:
            found.append(Peer(names[at], peer))
    return found


def _work_at(trace: Trace, start_ns: int, end_ns: int) -> int | None:
    """The device work, else the host slice, with exactly these times."""
    for frame, column in ((trace.device_work, "slice"), (trace.slices, "id")):
        starts = frame["start_ns"].to_numpy()
        rows = np.flatnonzero(
            (starts == start_ns) & (starts + frame["dur_ns"].to_numpy() == end_ns)
        )
        if len(rows):
            return int(frame[column][int(rows[0])])
    return None
