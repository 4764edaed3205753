"""Downsampling of metric samples, for recordings with more samples than a chart can show."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Float64, Int64


def downsample(
    time_ns: Int64, values: Float64, series: Int64, max_samples: int, *, at_end: bool = False
) -> tuple[Int64, Float64, Int64]:
    """Average runs of consecutive samples of a series until about ``max_samples`` remain.

    Args:
        time_ns: Time of each sample.
        values: Its value.
        series: The number of the series it belongs to.
        max_samples: Above this number of samples, runs of equal length are averaged.
        at_end: Whether each value describes the time since the sample before it, so that the time
            of an average is that of the last sample of its run; else it is that of the first.

    Returns:
        Times, values and series, sorted by series and time.
    """
    order = np.lexsort((time_ns, series))
    time_ns, values, series = time_ns[order], values[order], series[order]
    run_length = -(-len(order) // max_samples)
    if run_length <= 1:
        return time_ns, values, series
    is_series_start = np.ones(len(series), np.bool_)
    is_series_start[1:] = series[1:] != series[:-1]
    starts = np.flatnonzero(is_series_start)
    within_series = np.arange(len(series)) - np.repeat(
        starts, np.diff(np.append(starts, len(series)))
    )
    first = np.flatnonzero(within_series % run_length == 0)
    counts = np.diff(np.append(first, len(series)))
    times = time_ns[first + counts - 1] if at_end else time_ns[first]
    return times, np.add.reduceat(values, first) / counts, series[first]
