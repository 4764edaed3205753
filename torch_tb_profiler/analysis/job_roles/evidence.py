"""What the recording of one rank says about its role: ranges of phases, windows of a server's
scheduler, and kernels that only one role runs.

Rules: ``knowledge/job_roles.toml``; ``docs/views-roles.md#how-roles-are-detected``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.algebra.intervals import Intervals, total, union
from torch_tb_profiler.analysis.recording.range_domains import range_ids, ranges_of_devices
from torch_tb_profiler.analysis.steps.phases.evidence import serving_ranges
from torch_tb_profiler.knowledge.job_roles import role_of_kernel, role_of_range
from torch_tb_profiler.knowledge.phases import serving_window
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

RANGE, WINDOW, KERNEL = "range", "window", "kernel"
"""The sources of evidence, strongest first."""

ROLE_EVIDENCE = {
    "source": pl.String,
    "role": pl.String,  # of a window "prefill", "decode" or "mixed"
    "phase": pl.String,  # name of the ranges; null for windows and kernels
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "calls": pl.Int64,  # ranges, windows or kernels from start to end
    "duration_ns": pl.Int64,  # that they cover
}

MAX_PERIODS = 128
"""Periods of a rank; where there are more, those of one phase with the shortest gaps are joined, so
that the summary of a rank stays small."""


@per_trace
def role_evidence(trace: Trace) -> pl.DataFrame:
    """The evidence of one rank, one row per period of a phase, kind of window and role with kernels
    of its own; columns of :data:`ROLE_EVIDENCE`, by source and start.

    Of ranges inside each other the outermost counts. Periods are the union of the ranges of one
    name.
    """
    rows = [*_periods(trace), *_windows(trace), *_kernels(trace)]
    return pl.DataFrame(rows, schema=ROLE_EVIDENCE, orient="row")


_Row = tuple[str, str, str | None, int, int, int, int]


def _periods(trace: Trace) -> list[_Row]:
    ids = range_ids(trace, (Category.ANNOTATION,))
    ids = ids[~ranges_of_devices(trace)[ids]]
    ids = ids[
        codes.names_match(
            trace,
            trace.slices["name_code"].to_numpy()[ids],
            lambda name: role_of_range(name) is not None,
        )
    ]
    if not len(ids):
        return []
    parent = indices(trace.slices["parent"])
    is_phase = np.zeros(trace.slices.height, np.bool_)
    is_phase[ids] = True
    above = np.append(nearest_marked(parent, is_phase), -1)[parent[ids]]
    start, end, name = _spans(trace, ids[above < 0])
    parts = []
    for code in np.unique(name).tolist():
        rows = name == code
        parts.append((str(trace.strings[code]), start[rows], union(start[rows], end[rows])))
    periods = [
        (RANGE, role_of_range(phase) or "", phase, *values)
        for phase, starts, covered in parts
        for values in _joined(starts, covered, _least_gap([each for _, _, each in parts]))
    ]
    return sorted(periods, key=lambda row: (row[3], row[4], row[2]))


def _least_gap(parts: list[Intervals]) -> int:
    """The length up to which gaps between periods of one phase are closed, so that no more than
    :data:`MAX_PERIODS` remain (one per phase at least); -1 where none need be."""
    count = sum(len(part.start_ns) for part in parts)
    if count <= MAX_PERIODS:
        return -1
    gaps = np.concatenate([part.start_ns[1:] - part.end_ns[:-1] for part in parts])
    close = min(count - MAX_PERIODS, len(gaps))
    return int(np.partition(gaps, close - 1)[close - 1])


def _joined(start_ns: Int64, covered: Intervals, gap_ns: int) -> list[tuple[int, int, int, int]]:
    """Start, end, number of ranges and covered time of the periods of one phase, of which gaps up
    to ``gap_ns`` are closed."""
    opens = np.append(True, covered.start_ns[1:] - covered.end_ns[:-1] > gap_ns)
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(opens)) - 1
    starts, ends = covered.start_ns[first], covered.end_ns[last]
    lengths = np.add.reduceat(covered.end_ns - covered.start_ns, first)
    ordered = np.sort(start_ns)
    calls = np.searchsorted(ordered, ends, "left") - np.searchsorted(ordered, starts, "left")
    return list(zip(starts.tolist(), ends.tolist(), calls.tolist(), lengths.tolist(), strict=True))


def _windows(trace: Trace) -> list[_Row]:
    """The iterations of a server's scheduler, by what they hold."""
    ids = serving_ranges(trace)
    start, end, name = _spans(trace, ids)
    kind_of = {}
    for code in np.unique(name).tolist():
        window = serving_window(str(trace.strings[code]))
        assert window is not None, "serving_ranges are windows"
        kind_of[code] = window.kind
    kinds = np.array([kind_of[code] for code in name.tolist()], np.str_)
    return [
        _sum(WINDOW, kind, start[kinds == kind], end[kinds == kind]) for kind in np.unique(kinds)
    ]


def _kernels(trace: Trace) -> list[_Row]:
    """Kernels that only one role runs, and ranges of optimizer steps."""
    work = trace.device_work
    name = work["name_code"].to_numpy()
    roles = {
        code: role
        for code in np.unique(name).tolist()
        if (role := role_of_kernel(str(trace.strings[code]))) is not None
    }
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    steps = np.flatnonzero(trace.slices["category"].to_numpy() == Category.OPTIMIZER)
    step_start, step_end, _ = _spans(trace, steps)
    rows = []
    for role in sorted({*roles.values(), *(["training"] if len(steps) else [])}):
        mine = np.isin(name, [code for code, each in roles.items() if each == role])
        starts, ends = start[mine], end[mine]
        if role == "training":
            starts, ends = np.append(starts, step_start), np.append(ends, step_end)
        rows.append(_sum(KERNEL, role, starts, ends))
    return rows


def _sum(source: str, role: str, start_ns: Int64, end_ns: Int64) -> _Row:
    covered = total(union(start_ns, end_ns))
    return (source, str(role), None, int(start_ns.min()), int(end_ns.max()), len(start_ns), covered)


def _spans(trace: Trace, ids: Int64) -> tuple[Int64, Int64, Int64]:
    """Start, end and code of the name of some slices."""
    start = trace.slices["start_ns"].to_numpy()[ids]
    return (
        start,
        start + trace.slices["dur_ns"].to_numpy()[ids],
        trace.slices["name_code"].to_numpy()[ids],
    )
