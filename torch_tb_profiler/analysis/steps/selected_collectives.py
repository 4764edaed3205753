"""The collectives of a run that lie in a selection, matched over the whole recordings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import in_selection
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.model import Trace


def selected_matching(traces: Mapping[str, Trace], selection: Selection) -> Matching:
    """The matched calls of a selection.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    traces = in_rank_order(traces)
    workers = set(selected_windows(traces, selection))
    return select_calls(match(traces), traces, selection, workers)


def selected_windows(traces: Mapping[str, Trace], selection: Selection) -> dict[str, StepWindows]:
    """The selected steps of each worker that has any of them.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    windows: dict[str, StepWindows] = {}
    error: SelectionError | None = None
    for worker, trace in traces.items():
        result = _windows_or_error(trace, selection)
        if isinstance(result, SelectionError):
            error = result
        else:
            windows[worker] = result
    if not windows and error is not None:
        raise error
    return windows


def _windows_or_error(trace: Trace, selection: Selection) -> StepWindows | SelectionError:
    try:
        return step_windows(trace, selection)
    except SelectionError as error:
        return error


def select_calls(
    matching: Matching, traces: Mapping[str, Trace], selection: Selection, workers: set[str]
) -> Matching:
    """The calls of a selection among those of a matching over whole recordings.

    Args:
        matching: Of the traces.
        traces: In the order of their ranks.
        selection: Which calls.
        workers: Those that have the selected steps.
    """
    if selection.is_everything:
        return matching
    masks = [
        in_selection(trace, selection, calls["step"], calls["start_ns"])
        if worker in workers
        else np.zeros(calls.height, np.bool_)
        for worker, trace in traces.items()
        for calls in [records(trace).frame]
    ]
    calls = matching.calls.filter(pl.Series(np.concatenate(masks)))
    ranges = matching.ranges.join(calls.select("worker", "record"), on=["worker", "record"])
    return replace(matching, calls=calls, ranges=ranges)
