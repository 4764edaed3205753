"""The time a selection speaks of: its steps, cut at the edges of its time range."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps, time_range
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace


class StepWindows(Struct, frozen=True, eq=False):
    """Steps in time order, disjoint.

    Attributes:
        names: Name of each.
        start_ns: Start of each, after stretching and cutting.
        end_ns: End of each, not included.
        whole: Whether each is a step from end to end: neither the time range nor the end of the
            recording cut it, and of the steps that were joined one lies in it wholly.
        left_out: Names of steps the recording ended in, left out because nobody asked for them.
        of_step: Per row of ``trace.steps`` the number of its window, -1 for none.
    """

    names: list[str]
    start_ns: Int64
    end_ns: Int64
    whole: Bools
    left_out: list[str]
    of_step: Int64

    @property
    def averaged(self) -> Bools:
        """Which windows means are over: the whole ones, or all where none is whole."""
        return self.whole if self.whole.any() else np.ones_like(self.whole)

    @property
    def of_averages(self) -> StepWindows:
        """Those windows that means are over, alone."""
        keep = self.averaged
        number = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
        return StepWindows(
            [self.names[row] for row in np.flatnonzero(keep)],
            self.start_ns[keep],
            self.end_ns[keep],
            self.whole[keep],
            self.left_out,
            number[self.of_step],
        )

    @property
    def cut(self) -> list[str]:
        """Names of the windows that are not whole."""
        return [
            name for name, whole in zip(self.names, self.whole.tolist(), strict=True) if not whole
        ]


def step_windows(trace: Trace, selection: Selection) -> StepWindows:
    """The steps of ``selection``; without ``steps`` all that were recorded to their end.

    A step that lies outside the time range is none; one that it cuts counts with what is inside.
    Steps of several processes are joined (``docs/metrics.md#several-processes-in-one-file``).

    The arrays are not to be written to.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    return _windows_of_whole(trace) if selection.is_everything else _windows(trace, selection)


@per_split
def _windows_of_whole(trace: Trace) -> StepWindows:
    """What views of a run ask for each rank many times."""
    return _windows(trace, Selection())


def _windows(trace: Trace, selection: Selection) -> StepWindows:
    steps = trace.steps
    chosen = selected_steps(trace, selection)
    complete = steps["kept"].to_numpy()
    left_out = np.zeros(len(chosen), np.bool_)
    if selection.steps is None:
        left_out = ~complete
        chosen = chosen & ~left_out
    rows = np.flatnonzero(chosen)
    start, end = steps["start_ns"].to_numpy()[rows], steps["end_ns"].to_numpy()[rows]
    step_names: list[str] = steps["name"].to_list()
    names = [step_names[row] for row in rows]
    window = np.arange(len(rows))
    whole = complete[rows]
    overlap = bool((start[1:] < end[:-1]).any())  # of one process: on several threads
    if overlap or len(set(steps["process"].to_list())) > 1:
        names, start, end, window, whole = _joined(names, start, end, whole)
    present = np.ones(len(start), np.bool_)
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        present &= end > first_ns
        whole = whole & (start >= first_ns)
        start = np.maximum(start, first_ns)
    if last_ns is not None:
        present &= start < last_ns
        whole = whole & (end <= last_ns)
        end = np.minimum(end, last_ns)
    number = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    of_step = np.full(steps.height, -1, np.int64)
    of_step[rows] = number[window]
    return StepWindows(
        [names[row] for row in np.flatnonzero(present)],
        start[present],
        np.maximum(end, start)[present],
        whole[present],
        list(dict.fromkeys(step_names[row] for row in np.flatnonzero(left_out))),
        of_step,
    )


def _joined(
    names: list[str], start_ns: Int64, end_ns: Int64, complete: Bools
) -> tuple[list[str], Int64, Int64, Int64, Bools]:
    """Steps of several processes as windows: names, starts, ends, per step its window or -1, and
    whether each window is whole.

    Those of one name that overlap are one, from the earliest start to the latest end; a window
    starts no earlier than the one before it ends, and is none if nothing of it is left. It is
    whole when all of its steps are ``complete`` and it holds one of them from end to end.
    """
    order = np.lexsort((end_ns, start_ns)).tolist()
    clusters: list[list[int]] = []  # rows that are one window, in order of their first start
    ends: list[int] = []
    open_of_name: dict[str, int] = {}
    for row in order:
        cluster = open_of_name.get(names[row])
        if cluster is not None and start_ns[row] < ends[cluster]:
            clusters[cluster].append(row)
            ends[cluster] = max(ends[cluster], int(end_ns[row]))
        else:
            open_of_name[names[row]] = len(clusters)
            clusters.append([row])
            ends.append(int(end_ns[row]))
    window = np.full(len(names), -1, np.int64)
    windows: list[tuple[str, int, int, bool]] = []
    reach = min(start_ns.tolist(), default=0)
    for rows, end in zip(clusters, ends, strict=True):
        first = int(start_ns[rows[0]])
        if end > reach or first == end >= reach:
            window[rows] = len(windows)
            whole = bool(complete[rows].all() and (start_ns[rows] >= reach).any())
            windows.append((names[rows[0]], max(first, reach), end, whole))
            reach = end
    return (
        [name for name, _, _, _ in windows],
        np.array([start for _, start, _, _ in windows], np.int64),
        np.array([end for _, _, end, _ in windows], np.int64),
        window,
        np.array([whole for _, _, _, whole in windows], np.bool_),
    )
