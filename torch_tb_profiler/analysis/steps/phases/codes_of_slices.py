"""The phase of each slice: of the host by where it begins, of device work that of its launch.

Definitions: ``docs/views-phases.md#how-phases-are-found``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason
from torch_tb_profiler.analysis.steps.phases.evidence import UNKNOWN, Phase, marks
from torch_tb_profiler.analysis.steps.phases.segments import (
    Stretches,
    phase_at,
    process_stretches,
    thread_stretches,
)
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NO_PHASE_MARKERS = (
    "Nothing in the recording tells phases: it has no autograd nodes, no calls of modules, no "
    "ranges of a data loader or an optimizer, and no user ranges named like phases."
)


@per_trace
def no_phases(trace: Trace) -> str | None:
    """Why nothing has a phase that is known; None when something has."""
    return None if len(marks(trace).slice) else missing_reason(trace, "ranges", NO_PHASE_MARKERS)


@per_trace
def slice_phases(trace: Trace) -> Int8:
    """Per slice its :class:`Phase`, or ``UNKNOWN``; made once, read-only.

    Slices of the host have that of what their own thread was in when they begin, else of what
    their process was in. Device work has the phase of its launch, or of the operator that launched
    it; what has neither has none.
    """
    phases = phases_of(trace, process_stretches(trace), of_threads=True)
    phases.flags.writeable = False
    return phases


def phases_of(trace: Trace, of_process: dict[int, Stretches], *, of_threads: bool) -> Int8:
    """The same of other stretches of processes.

    Args:
        trace: The trace.
        of_process: Per process the phases of its moments.
        of_threads: Whether forward and backward of the own thread count before those of the
            process; loading and the optimizer always do.
    """
    slices = trace.slices
    phases = np.full(slices.height, UNKNOWN, np.int8)
    if not of_process:
        return phases
    start = slices["start_ns"].to_numpy()
    tracks = slices["track"].to_numpy()
    processes = indices(trace.tracks["process"])
    threads = thread_stretches(trace)
    numbers = np.flatnonzero(~trace.tracks["is_device"].to_numpy())
    first = np.searchsorted(tracks, numbers)
    until = np.searchsorted(tracks, numbers, "right")
    for track, *edges in zip(numbers.tolist(), first.tolist(), until.tolist(), strict=True):
        rows = slice(*edges)
        process = of_process.get(int(processes[track]))
        if process is not None:
            phases[rows] = phase_at(process, start[rows], Phase.OTHER)
        if track in threads:
            own = phase_at(threads[track], start[rows], UNKNOWN)
            counts = own >= 0
            if not of_threads:
                counts &= (own == Phase.DATALOADER) | (own == Phase.OPTIMIZER)
            phases[rows] = np.where(counts, own, phases[rows])
    phases[np.isin(slices["category"].to_numpy(), DEVICE_CATEGORIES)] = UNKNOWN
    work = trace.device_work["slice"].to_numpy()
    phases[work] = gather(phases.astype(np.int64), launched_in(trace))
    return phases


@per_trace
def launched_in(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the slice that launched it: its call, else the node that
    owns it, -1 for neither."""
    launch = indices(trace.device_work["launch"])
    return np.where(launch >= 0, launch, indices(trace.device_work["owner"]))
