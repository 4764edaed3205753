"""Streams: how busy, how long their queue, how far they overlap, and their gaps as HTA counts."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    split_at_windows,
    total_within,
)
from torch_tb_profiler.analysis.kernels.launches.streams import Stream, streams
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, exact_microseconds
from torch_tb_profiler.views.idle.causes import NO_NUMBER, gpu_number
from torch_tb_profiler.views.idle.columns import NO_LAUNCHES, STREAMS
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Line, Series, Table

MAX_LINES = 8
MAX_POINTS = 1_000
_WAITS = ("host_wait_us", "kernel_wait_us", "other_wait_us")
_REASONS = {
    "gpu": NO_NUMBER,
    "stream": "Stream numbers were not recorded.",
    "queue_mean": NO_LAUNCHES,
    "queue_max": NO_LAUNCHES,
}


def streams_table(trace: Trace, start_ns: Int64, end_ns: Int64) -> Table:
    """The rows of ``STREAMS``: the streams that work in some windows of time."""
    time = int((end_ns - start_ns).sum())
    begun = trace.device_work["start_ns"].to_numpy()
    is_kernel = kernel_kinds(trace).is_kernel
    rows = []
    for stream in streams(trace):
        busy = int(total_within(stream.working, start_ns, end_ns).sum())
        if not busy:
            continue
        shared = int(total_within(stream.overlapped, start_ns, end_ns).sum())
        rows.append(
            {
                "gpu": gpu_number(stream.device),
                "stream": gpu_number(stream.stream),
                "kernels": _count(begun[stream.rows[is_kernel[stream.rows]]], start_ns, end_ns),
                "copies": _count(begun[stream.rows[~is_kernel[stream.rows]]], start_ns, end_ns),
                "busy_us": exact_microseconds(busy),
                "busy_pct": 100.0 * busy / time,
                "shared_us": exact_microseconds(shared),
                "shared_pct": 100.0 * shared / busy,
                **_queue(stream, start_ns, end_ns, time),
                **_waits(stream, start_ns, end_ns),
            }
        )
    frame = pl.DataFrame(rows, schema=STREAMS.polars_schema())
    return in_default_order(Table(STREAMS, frame, needed(frame, _REASONS)))


def _count(begun_ns: Int64, start_ns: Int64, end_ns: Int64) -> int:
    """How many of some moments, ascending, lie in windows."""
    first, last = (np.searchsorted(begun_ns, edges) for edges in (start_ns, end_ns))
    return int((last - first).sum())


def _queue(stream: Stream, start_ns: Int64, end_ns: Int64, time_ns: int) -> dict[str, object]:
    if stream.queue is None:
        return {"queue_mean": None, "queue_max": None}
    mean = stream.queue.integral_within(start_ns, end_ns) / time_ns
    edges, level = stream.queue.levels()
    return {"queue_mean": mean, "queue_max": int(_highest(edges, level, start_ns, end_ns))}


def _highest(edges: Int64, level: Float64, start_ns: Int64, end_ns: Int64) -> float:
    """The largest level in windows; 0 where no edge lies before or in them."""
    first = np.maximum(np.searchsorted(edges, start_ns, "right") - 1, 0)
    last = np.searchsorted(edges, end_ns)
    some = last > first
    if not some.any():
        return 0.0
    # Each pair of borders makes a part to look at and a part between two windows to leave out.
    boundaries = np.stack((first[some], last[some]), axis=1).ravel()
    highest = np.maximum.reduceat(np.append(level, 0.0), boundaries)[::2]
    return float(highest.max())


def _waits(stream: Stream, start_ns: Int64, end_ns: Int64) -> dict[str, float]:
    gaps = Intervals(stream.gap_start_ns, stream.gap_end_ns)
    pieces = split_at_windows(gaps, start_ns, end_ns)
    kind = stream.gap_kind[pieces.row]
    length = pieces.length_ns
    return {
        key: exact_microseconds(int(length[kind == number].sum()))
        for number, key in enumerate(_WAITS)
    }


def queue_series(trace: Trace, start_ns: Int64, end_ns: Int64) -> Series:
    """The queue of the busiest streams from the first to the last selected moment; of many changes
    the longest of several in a row."""
    lines = []
    if len(start_ns):
        begin, end = int(start_ns.min()), int(end_ns.max())
        known = [stream for stream in streams(trace) if stream.queue is not None]
        known.sort(key=lambda stream: -int(total_within(stream.working, start_ns, end_ns).sum()))
        lines = [_line(stream, begin, end, trace.meta.start_ns) for stream in known[:MAX_LINES]]
    return Series(
        "Queue of streams",
        "stair",
        "Time since the start of the recording",
        "us",
        "Launched, not started",
        "count",
        tuple(line for line in lines if line.x),
    )


def _line(stream: Stream, begin_ns: int, end_ns: int, origin_ns: int) -> Line:
    name = f"GPU {stream.device} stream {stream.stream}"
    if stream.queue is None:
        return Line(name, [], [])
    edges, level = stream.queue.levels()
    near = slice(*np.searchsorted(edges, (begin_ns, end_ns)).tolist())
    time, length = edges[near], level[near]
    first = np.arange(0, len(time), max(-(-len(time) // MAX_POINTS), 1))
    if not len(first):
        return Line(name, [], [])
    most = np.maximum.reduceat(length, first)
    return Line(name, ((time[first] - origin_ns) / NS_PER_US).tolist(), most.tolist())
