"""Data loading on a timeline: how long the program waited in its data loader."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.analysis.steps.windows import step_windows
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


class LoaderWaits(Struct, frozen=True, eq=False):
    """Waits for data in a selection.

    Attributes:
        calls_ns: How long each call of a loader took.
        steps: Names of the steps.
        wait_ns: Per step the time in which any thread was in a loader.
        step_ns: Per step its length.
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
    waits = total_within(union(start, start + dur), windows.start_ns, windows.end_ns)
    return LoaderWaits(dur[chosen], windows.names, waits, windows.end_ns - windows.start_ns)
