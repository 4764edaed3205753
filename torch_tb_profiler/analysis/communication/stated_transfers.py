"""How long data moved in collectives, where a file of the recording states it.

Definitions: ``docs/views-distributed.md#stated-transfers``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

TOLERANCE_US = 1.0
"""A stated duration and that on the timeline differ at most so much: files round."""

_CALL = ("name", "occurrence")


STATED_CALLS = dict.fromkeys(("start_ns", "dur_ns", "transit_ns"), pl.Int64)


@per_trace
def stated_calls(trace: Trace) -> pl.DataFrame:
    """Slices whose transfer a file states, as :data:`STATED_CALLS`, by start.

    By name and order, as the clocks of the files may differ; those of another duration are others.
    """
    side = trace.side.get("recorded_collectives")
    empty = pl.DataFrame(schema=STATED_CALLS)
    if side is None:
        return empty
    occurrence = pl.int_range(pl.len()).over("name").alias("occurrence")
    stated = (
        side.frame.select("name", "start_us", "elapse_us", "transit_us")
        .drop_nulls()
        .filter(
            pl.col("elapse_us").is_finite() & pl.col("transit_us").is_between(0, np.inf, "left")
        )
        .sort("start_us")
        .with_columns(occurrence)
    )
    names = set(stated["name"].to_list())
    codes = {
        code: text
        for code in trace.slices["name_code"].unique().to_list()
        if (text := str(trace.strings[code])) in names
    }
    if not codes:
        return empty
    slices = (
        trace.slices.select("name_code", "start_ns", "dur_ns")
        .filter(pl.col("name_code").is_in(list(codes)))
        .with_columns(name=pl.col("name_code").replace_strict(codes, return_dtype=pl.String))
        .sort("start_ns")
        .with_columns(occurrence)
    )
    difference_us = pl.col("dur_ns") / NS_PER_US - pl.col("elapse_us")
    return (
        slices.join(stated, on=_CALL)
        .filter(difference_us.abs() <= TOLERANCE_US)
        .select(
            "start_ns",
            "dur_ns",
            transit_ns=(pl.col("transit_us") * NS_PER_US).round().cast(pl.Int64),
        )
        .sort("start_ns")
    )


def stated_transfers(trace: Trace, start_ns: Int64, end_ns: Int64) -> Int64:
    """Per range how much of it data moved, in ns, as a file of the recording states it; -1 where
    none does.

    Args:
        trace: The recording.
        start_ns: Start of each range, in trace time.
        end_ns: End of each.
    """
    stated = stated_calls(trace)
    if stated.is_empty():
        return np.full(len(start_ns), -1, np.int64)
    starts, dur, transit = (stated[key].to_numpy() for key in ("start_ns", "dur_ns", "transit_ns"))
    row = np.searchsorted(starts, start_ns).clip(0, len(starts) - 1)
    is_same = (starts[row] == start_ns) & (dur[row] == end_ns - start_ns)
    moved: Int64 = np.where(is_same, np.minimum(transit[row], dur[row]), -1)
    return moved
