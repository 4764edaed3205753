"""The figures of a selection of iterations: how many, how long, over what time.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.analysis.steps.masks import slice_mask, slice_steps, time_range
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.categories import (
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import Bools, Int8
from torch_tb_profiler.trace.model import Trace

NO_ITERATION = "No iteration lies in the selection."

_ON_HOST = (*NODE_CATEGORIES, Category.RUNTIME)


class IterationFigures(Struct, frozen=True):
    """What a selection of iterations comes to; None where it holds none.

    Attributes:
        total: Iterations of the trace.
        selected: Those in the selection.
        first: Name of the first of these.
        last: Name of the last.
        mean_ns: Mean length of those that were recorded and selected from end to end.
        stddev_ns: Standard deviation of these lengths (of the population).
        wall_clock_ns: From the start of the first operation on the host in the first to the last
            end on host or device in the last.
    """

    total: int
    selected: int
    first: str | None
    last: str | None
    mean_ns: float | None
    stddev_ns: float | None
    wall_clock_ns: int | None


def iteration_figures(trace: Trace, selection: Selection) -> IterationFigures:
    """The figures of ``selection``.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    of_selection = iterations(trace, selection)
    windows = of_selection.windows
    chosen = np.flatnonzero(of_selection.selected)
    if not len(chosen):
        return IterationFigures(len(windows.names), 0, None, None, None, None, None)
    lengths = of_selection.lengths_ns
    first, last = int(chosen[0]), int(chosen[-1])
    return IterationFigures(
        total=len(windows.names),
        selected=len(chosen),
        first=windows.names[first],
        last=windows.names[last],
        mean_ns=float(lengths.mean()) if len(lengths) else None,
        stddev_ns=float(lengths.std()) if len(lengths) else None,
        wall_clock_ns=_wall_clock(trace, selection, first, last, windows),
    )


def _wall_clock(
    trace: Trace, selection: Selection, first: int, last: int, windows: StepWindows
) -> int:
    """From the first start in window ``first`` to the last end in window ``last``, as far as the
    selected time range reaches; what goes on behind the window ends with it. Where nothing starts
    in a window (what began before goes on) its edge counts."""
    window = np.append(windows.of_step, -1)[slice_steps(trace)]
    category = trace.slices["category"].to_numpy()
    inside = slice_mask(trace, selection)
    in_first, in_last = (np.flatnonzero(inside & (window == each)) for each in (first, last))
    start = trace.slices["start_ns"].to_numpy()
    for on_host in (_ON_HOST, PYTHON_CATEGORIES, tuple(Category)):
        begins = in_first[_of(category[in_first], on_host)]
        if len(begins):
            break
    ends = in_last[_of(category[in_last], (*on_host, *DEVICE_WORK_CATEGORIES))]
    since, until = time_range(trace, selection)
    first_ns = max(int(windows.start_ns[first]), since or 0)
    if len(begins):
        first_ns = int(start[begins].min())
    last_ns = int(windows.end_ns[last])
    if len(ends):
        end_ns = start[ends] + trace.slices["dur_ns"].to_numpy()[ends]
        last_ns = min(last_ns, int(end_ns.max()))
    last_ns = last_ns if until is None else min(last_ns, until)
    return max(last_ns - first_ns, 0)


def _of(category: Int8, wanted: tuple[Category, ...]) -> Bools:
    is_wanted = np.zeros(len(Category), np.bool_)
    is_wanted[list(wanted)] = True
    of_rows: Bools = is_wanted[category]
    return of_rows
