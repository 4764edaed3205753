"""The longest gaps of GPUs, with what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.attribution import GpuIdle
from torch_tb_profiler.analysis.idle.host_in_gaps import describe_host, launching_tracks
from torch_tb_profiler.analysis.idle.long_gaps import MAX_GAPS, LongGaps, long_gaps
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.idle.causes import NO_NUMBER, gpu_number, titles
from torch_tb_profiler.views.idle.columns import GAPS
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table

_REASONS = {
    "gpu": NO_NUMBER,
    "host": "No activity of the launching thread was recorded in the gap.",
    "before": "The gap is at the start of the step or recording.",
    "after": "The gap is at the end of the step or recording.",
    "operator": "No work follows in the step, or no operator launched it.",
    "host_call": "No work follows in the step, or its launch was not recorded.",
}


def gaps_table(trace: Trace, idle: Mapping[int, GpuIdle], windows: StepWindows) -> Table:
    """The rows of ``GAPS``."""
    parts = [
        _of_gpu(trace, gpu, idle[gpu], gaps, windows)
        for gpu, gaps in long_gaps(idle, windows).items()
    ]
    frame = pl.concat([pl.DataFrame(schema=GAPS.polars_schema()), *parts])
    table = in_default_order(Table(GAPS, frame))
    frame = table.frame.head(MAX_GAPS)
    return Table(GAPS, frame, needed(frame, _REASONS))


def _of_gpu(
    trace: Trace, gpu: int, gpu_idle: GpuIdle, gaps: LongGaps, windows: StepWindows
) -> pl.DataFrame:
    pieces = gaps.pieces
    start, end, row = pieces.start_ns, pieces.end_ns, pieces.row
    # What lies behind an edge of the step is not beside the gap.
    before = np.where(start == gpu_idle.gaps.start_ns[row], gpu_idle.before[row], -1)
    after = np.where(end == gpu_idle.gaps.end_ns[row], gpu_idle.after[row], -1)
    work, slices = trace.device_work, trace.slices
    launch = _at(work["launch"], after)
    track = _at(slices["track"], launch)
    track = np.where(track >= 0, track, launching_tracks(trace).get(gpu, -1))
    columns = {
        "gpu": [gpu_number(gpu)] * len(start),
        "start_us": (start - trace.meta.start_ns) / NS_PER_US,
        "duration_us": (end - start) / NS_PER_US,
        "step": [windows.names[window] for window in pieces.window.tolist()],
        "title": [titles()[cause] for cause in gaps.causes],
        "cause": gaps.causes,
        "cause_pct": 100.0 * gaps.explained_ns / np.maximum(end - start, 1),
        "host": describe_host(trace, track, start, end),
        "before": _work_names(trace, before),
        "after": _work_names(trace, after),
        "operator": _names(trace, _at(work["owner"], after)),
        "host_call": _names(trace, launch),
    }
    schema = GAPS.polars_schema()
    return pl.DataFrame({key: columns[key] for key in schema}, schema=schema)


def _work_names(trace: Trace, rows: Int64) -> pl.Series:
    """Short names of kernels, names of all else."""
    name_codes = _codes(_at(trace.device_work["name_code"], rows))
    short = kernel_names(trace).short(name_codes)
    return pl.select(pl.coalesce(short, codes.texts(trace, name_codes))).to_series()


def _names(trace: Trace, slices: Int64) -> pl.Series:
    """Names of slices, null of -1."""
    return codes.texts(trace, _codes(_at(trace.slices["name_code"], slices)))


def _codes(values: Int64) -> pl.Series:
    known = pl.Series("code", values, dtype=pl.Int64)
    return known.set(known < 0, None)


def _at(column: pl.Series, rows: Int64) -> Int64:
    """Values of a few rows of a long column; -1 where they are null, or the row is -1."""
    if not len(column):
        return np.full(len(rows), -1, np.int64)
    return np.where(rows >= 0, indices(column[np.maximum(rows, 0)]), -1)
