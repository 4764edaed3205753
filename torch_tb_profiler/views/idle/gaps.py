"""The longest gaps of GPUs, with what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    IntervalPieces,
    Intervals,
    split_at_windows,
    total_within,
)
from torch_tb_profiler.analysis.idle.attribution import GpuIdle
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES
from torch_tb_profiler.analysis.idle.host_in_gaps import describe_host, launching_tracks
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

MAX_GAPS = 200

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
    pieces = {gpu: _longest(gpu_idle, windows) for gpu, gpu_idle in idle.items()}
    lengths = [piece.length_ns for piece in pieces.values()]
    least = _least(np.concatenate(lengths)) if lengths else 0
    parts = [
        _of_gpu(trace, gpu, idle[gpu], _chosen(piece, least), windows)
        for gpu, piece in pieces.items()
    ]
    frame = pl.concat([pl.DataFrame(schema=GAPS.polars_schema()), *parts])
    table = in_default_order(Table(GAPS, frame))
    frame = table.frame.head(MAX_GAPS)
    return Table(GAPS, frame, needed(frame, _REASONS))


def _longest(gpu_idle: GpuIdle, windows: StepWindows) -> IntervalPieces:
    """The gaps of a GPU in the windows, of many only the longest."""
    gaps = Intervals(gpu_idle.gaps.start_ns, gpu_idle.gaps.end_ns)
    pieces = split_at_windows(gaps, windows.start_ns, windows.end_ns)
    return _chosen(pieces, _least(pieces.length_ns))


def _least(length_ns: Int64) -> int:
    """The length of the last of the longest."""
    if len(length_ns) <= MAX_GAPS:
        return 0
    return int(np.partition(length_ns, -MAX_GAPS)[-MAX_GAPS])


def _chosen(pieces: IntervalPieces, least_ns: int) -> IntervalPieces:
    long = np.flatnonzero(pieces.length_ns >= least_ns)
    if len(long) > MAX_GAPS:  # equals: the first ones
        long = long[np.argsort(-pieces.length_ns[long], kind="stable")[:MAX_GAPS]]
    return IntervalPieces(*(values[long] for values in pieces))


def _of_gpu(
    trace: Trace, gpu: int, gpu_idle: GpuIdle, pieces: IntervalPieces, windows: StepWindows
) -> pl.DataFrame:
    start, end, row = pieces.start_ns, pieces.end_ns, pieces.row
    explained = np.stack([total_within(gpu_idle.causes[cause], start, end) for cause in GPU_CAUSES])
    keys = list(GPU_CAUSES)
    causes = [keys[row] for row in explained.argmax(axis=0).tolist()]
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
        "title": [titles()[cause] for cause in causes],
        "cause": causes,
        "cause_pct": 100 * explained.max(axis=0) / np.maximum(end - start, 1),
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
