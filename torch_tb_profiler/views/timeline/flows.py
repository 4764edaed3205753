"""The arrows of one slice within its trace: to and from device work, forward and backward."""

from __future__ import annotations

from typing import Literal

import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.model import Trace

FlowKind = Literal["launch", "forward_backward", "collective"]

MAX_FLOWS = 100
"""Arrows of one slice that are drawn; one graph launch owns hundreds of kernels."""


class Flow(Struct, frozen=True):
    """An arrow between two slices of one trace."""

    kind: FlowKind
    source: int
    target: int


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
    flows = [Flow("launch", source, target) for source, target, _ in work.iter_rows()]
    flows += [Flow("forward_backward", source, target) for source, target in twins.iter_rows()]
    start = trace.slices["start_ns"]
    here = start[slice_id]

    def distance(flow: Flow) -> int:
        other = flow.source if flow.target == slice_id else flow.target
        away: int = abs(start[other] - here)
        return away

    return sorted(flows, key=distance)
