"""What a rank did in each of its steps: one row per step, small enough for thousands of ranks."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    split_at_windows,
    total_within,
    union_all,
)
from torch_tb_profiler.analysis.ranks.own_time import own_time
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

RANK_STEPS = pl.Schema(
    {
        "step": pl.Int32,  # row of `steps`
        "duration_ns": pl.Int64,
        "computation_ns": pl.Int64,  # alone or with communication
        "communication_ns": pl.Int64,  # alone or with computation
        "communication_wait_ns": pl.Int64,  # no computation, which waits for communication
        "idle_ns": pl.Int64,  # neither
        "input_wait_ns": pl.Int64,  # no computation, the host loads or waits for a batch
        "host_wait_ns": pl.Int64,  # no computation, the host has not launched the next work
        "pause_ns": pl.Int64,  # no computation, garbage collection or a checkpoint
        "collection_ns": pl.Int64,  # the part of it that is garbage collection
        "device_wait_ns": pl.Int64,  # no computation, though launched, or in a blocking call
        "loading_ns": pl.Int64,  # the host loads or waits for a batch, computation or not
        "pausing_ns": pl.Int64,  # garbage collection or a checkpoint, computation or not
        "longest_gap_ns": pl.Int64,  # longest stretch of input, host and pause
        "busy_ns": pl.Int64,  # durations of kernels that do not communicate, summed
        "kernels": pl.Int64,
        "memory_peak_bytes": pl.Int64,  # allocated on devices; null where not recorded
    }
)
"""One row per step, in the order of ``steps``. Definitions: ``docs/views-ranks.md#own-time``."""


@per_split
def rank_steps(trace: Trace) -> pl.DataFrame:
    """The steps of a rank as :data:`RANK_STEPS`, ns."""
    start = trace.steps["start_ns"].to_numpy()
    end = trace.steps["end_ns"].to_numpy()
    time = own_time(trace)

    def within(intervals: Intervals) -> Int64:
        return total_within(intervals, start, end)

    gaps = union_all(time.input, time.host, time.collection, time.checkpoint)
    active = union_all(time.computation, time.communication)
    kernels = _kernels(trace, start, end)
    frame = pl.DataFrame(
        {
            "step": np.arange(len(start)),
            "duration_ns": end - start,
            "computation_ns": within(time.computation),
            "communication_ns": within(time.communication),
            "communication_wait_ns": within(time.blocked),
            "idle_ns": (end - start) - within(active),
            "input_wait_ns": within(time.input),
            "host_wait_ns": within(time.host),
            "pause_ns": within(time.collection) + within(time.checkpoint),
            "collection_ns": within(time.collection),
            "device_wait_ns": within(time.device),
            "loading_ns": within(time.loading),
            "pausing_ns": within(time.pausing),
            "longest_gap_ns": _longest(gaps, start, end),
            "busy_ns": kernels[0],
            "kernels": kernels[1],
        }
    )
    frame = frame.with_columns(memory_peak_bytes=_memory_peaks(trace, start, end))
    return frame.select(pl.col(name).cast(dtype) for name, dtype in RANK_STEPS.items())


def _longest(intervals: Intervals, start_ns: Int64, end_ns: Int64) -> Int64:
    """The longest piece of some time in each window, 0 where there is none."""
    pieces = split_at_windows(intervals, start_ns, end_ns)
    longest = np.zeros(len(start_ns), np.int64)
    np.maximum.at(longest, pieces.window, pieces.length_ns)
    return longest


def _kernels(trace: Trace, start_ns: Int64, end_ns: Int64) -> tuple[Int64, Int64]:
    """Per window the summed duration and the number of the kernels that start in it and do not
    communicate."""
    kinds = kernel_kinds(trace)
    work = trace.device_work.select("start_ns", "dur_ns").filter(
        pl.Series(kinds.is_kernel & ~kinds.is_communication)
    )
    order = np.argsort(work["start_ns"].to_numpy(), kind="stable")
    begins = work["start_ns"].to_numpy()[order]
    sums = np.append(0, np.cumsum(work["dur_ns"].to_numpy()[order]))
    first, last = np.searchsorted(begins, start_ns), np.searchsorted(begins, end_ns)
    return sums[last] - sums[first], (last - first).astype(np.int64)


def _memory_peaks(trace: Trace, start_ns: Int64, end_ns: Int64) -> pl.Series:
    """Per window the most that was allocated on a device at once, null where it is not recorded."""
    cpu = 0  # c10::DeviceType
    records = trace.memory.filter(
        (pl.col("device_type") != cpu) & (pl.col("total_allocated_bytes") > 0)
    ).sort("time_ns")
    times, total = records["time_ns"].to_numpy(), records["total_allocated_bytes"].to_numpy()
    first, last = np.searchsorted(times, start_ns), np.searchsorted(times, end_ns)
    peaks = [
        int(total[a:b].max()) if b > a else None
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return pl.Series("memory_peak_bytes", peaks, dtype=pl.Int64)
