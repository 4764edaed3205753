"""Where on the timeline the selected steps lie."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.analysis.steps.step_text import format_steps
from torch_tb_profiler.trace.model import Trace

MAX_RANGES = 1000
"""More stretches melt into one on any screen; the last of them then reaches to the end of all."""


def selected_ranges(trace: Trace, selection: Selection) -> list[tuple[int, int]]:
    """Start and end, in trace time, of the steps of a selection: in order, and those that touch or
    overlap as one. A step is as long as on the host, like its slice on the timeline; device work
    may follow later.

    Raises:
        SelectionError: as ``analysis.selection.selected_steps``.
    """
    steps = trace.steps.filter(selected_steps(trace, selection)).sort("host_start_ns")
    ranges: list[tuple[int, int]] = []
    for start, end in steps.select("host_start_ns", "host_end_ns").iter_rows():
        if ranges and (start <= ranges[-1][1] or len(ranges) == MAX_RANGES):
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges


def selected_text(trace: Trace, selection: Selection) -> str | None:
    """The shortest text that means the steps of a selection, however they were written; None for
    all of the recording, the text itself where no shorter one means the same (names with commas).

    Raises:
        SelectionError: as ``analysis.selection.selected_steps``.
    """
    chosen = selected_steps(trace, selection)
    if selection.steps is None or selection.steps.strip().lower() == "all":
        return None
    names = trace.steps.filter(chosen).sort("host_start_ns")["name"].to_list()
    text = format_steps(names)
    try:
        means_same = (selected_steps(trace, replace(selection, steps=text)) == chosen).all()
    except SelectionError:
        return selection.steps
    return text if means_same else selection.steps
