"""Device work of backward passes that ran during a range, but was launched on another thread.

Autograd runs a backward pass on threads of its own for each device, so a range around
``loss.backward()`` launches nothing itself. Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.operators.summaries.calls import selected_calls
from torch_tb_profiler.analysis.operators.summaries.user_ranges import range_calls
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


def backward_elsewhere(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Ranges during which backward passes on other threads of their process launched more device
    work than the ranges themselves: ``name``, ``gpu_ns`` (their own) and ``elsewhere_ns``, summed
    by name, most first.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = range_calls(trace).with_columns(elsewhere_ns=pl.Series(_launched_elsewhere(trace)))
    groups = (
        selected_calls(trace, selection, calls)
        .group_by("name_code")
        .agg(pl.col("gpu_ns").sum(), pl.col("elsewhere_ns").sum())
        .filter(pl.col("elsewhere_ns") > pl.col("gpu_ns"))
        .sort("elsewhere_ns", "name_code", descending=[True, False])
    )
    names = [str(trace.strings[code]) for code in groups["name_code"].to_list()]
    return groups.select(pl.Series("name", names, pl.String), "gpu_ns", "elsewhere_ns")


@per_trace
def _launched_elsewhere(trace: Trace) -> Int64:
    """Per row of :func:`range_calls` the device time of the outermost backward nodes that began on
    other threads of its process while it lasted."""
    calls = range_calls(trace)
    start, track = calls["start_ns"].to_numpy(), calls["track"].to_numpy()
    end = start + calls["cpu_ns"].to_numpy()
    backward = backward_nodes(trace)
    nodes = trace.slices.select("start_ns", "track", "device_total_ns")[
        backward.slice[backward.outer < 0]
    ].sort("start_ns")
    node_track = nodes["track"].to_numpy()
    process = trace.tracks["process"].to_numpy()
    elsewhere = np.zeros(len(start), np.int64)
    for own in distinct_values(track).tolist():
        rows = np.flatnonzero(track == own)
        others = nodes.filter(
            pl.Series((node_track != own) & (process[node_track] == process[own]))
        )
        sums = np.append(0, np.cumsum(others["device_total_ns"].fill_null(0).to_numpy()))
        first, last = (
            np.searchsorted(others["start_ns"].to_numpy(), times[rows]) for times in (start, end)
        )
        elsewhere[rows] = sums[last] - sums[first]
    return elsewhere
