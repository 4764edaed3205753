"""All iterations of a trace in time order, and which of them a selection means.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace


class Iterations(Struct, frozen=True, eq=False):
    """The iterations of a trace.

    Attributes:
        windows: All of them, those too that are left out of averages.
        selected: Which the selection means.
        lengths_ns: Lengths of those that means are over, as far as they are selected: of those
            that were recorded and selected from end to end, or of all selected where none was.
    """

    windows: StepWindows
    selected: Bools
    lengths_ns: Int64


@per_split
def all_windows(trace: Trace) -> StepWindows:
    """Every iteration, whether its end was recorded or not."""
    try:
        return step_windows(trace, Selection(steps="all"))
    except SelectionError:  # a trace without steps
        return step_windows(trace, Selection())


@per_split
def iteration_numbers(trace: Trace) -> list[int | None]:
    """Per window of :func:`all_windows` the number that its name is: in every format there is
    names are numbers."""
    names = all_windows(trace).names
    return [
        int(name) if name.isascii() and name.isdecimal() and len(name) <= 18 else None
        for name in names
    ]


def iterations(trace: Trace, selection: Selection) -> Iterations:
    """The iterations of ``trace`` with those that ``selection`` means.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = all_windows(trace)
    chosen = step_windows(trace, selection)
    both = (windows.of_step >= 0) & (chosen.of_step >= 0)
    of_window = np.full(len(windows.names), -1, np.int64)
    of_window[windows.of_step[both]] = chosen.of_step[both]
    selected = of_window >= 0
    lengths = (chosen.end_ns - chosen.start_ns)[chosen.averaged]
    return Iterations(windows, selected, lengths)
