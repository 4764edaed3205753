"""Data loading on a timeline: how long the program waited in its data loader."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask, time_range
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def loader_slices(trace: Trace) -> Int64:
    """Slices of data loaders, without those directly inside another one; made once."""
    category = trace.slices["category"].to_numpy()
    slices = np.flatnonzero(category == Category.DATALOADER)
    around = indices(trace.slices["parent"][slices]) if len(slices) else slices
    inside = (around >= 0) & (category[around] == Category.DATALOADER)
    outermost: Int64 = slices[~inside]
    return outermost


def _on_host(trace: Trace, selection: Selection, windows: StepWindows) -> tuple[Int64, Int64]:
    """Per window when the host began and ended its steps, cut at the edges of the time range."""
    steps = trace.steps.select("host_start_ns", "host_end_ns", window=pl.Series(windows.of_step))
    hosts = (
        steps.filter(pl.col("window") >= 0)
        .group_by("window")
        .agg(pl.col("host_start_ns").min(), pl.col("host_end_ns").max())
        .sort("window")
    )
    start_ns, end_ns = hosts["host_start_ns"].to_numpy(), hosts["host_end_ns"].to_numpy()
    first_ns, last_ns = time_range(trace, selection)
    start_ns = start_ns if first_ns is None else np.maximum(start_ns, first_ns)
    end_ns = end_ns if last_ns is None else np.minimum(end_ns, last_ns)
    return start_ns, np.maximum(start_ns, end_ns)


class LoaderWaits(Struct, frozen=True, eq=False):
    """Waits for data in a selection.

    Attributes:
        calls_ns: How long each call of a loader took.
        steps: Names of the steps.
        wait_ns: Per step the time in which any thread was in a loader while the host was in the
            step. It lasts until its device work ends, and meanwhile the host loads for the next.
        step_ns: Per step its length on the host.
    """

    calls_ns: Int64
    steps: list[str]
    wait_ns: Int64
    step_ns: Int64


def loader_waits(trace: Trace, selection: Selection) -> LoaderWaits | None:
    """The waits of a selection; None where the trace has no data loader.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    slices = loader_slices(trace)
    if not len(slices):
        return None
    start = trace.slices["start_ns"].to_numpy()[slices]
    dur = trace.slices["dur_ns"].to_numpy()[slices]
    chosen = slice_mask(trace, selection)[slices]
    windows = step_windows(trace, selection)
    host_start_ns, host_end_ns = _on_host(trace, selection, windows)
    waits = total_within(union(start, start + dur), host_start_ns, host_end_ns)
    return LoaderWaits(dur[chosen], windows.names, waits, host_end_ns - host_start_ns)
