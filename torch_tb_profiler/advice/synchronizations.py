"""Host calls that wait for the device."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.intervals import Intervals, union
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

WAITING = re.compile(
    r"(cuda|hip|cu|mtia|ze|ur)\w*(Synchronize|Finish|QueueFinish|EventWait|HostSynchronize)$"
    r"|(cuda|hip)Memcpy$",
    re.IGNORECASE,
)
"""Runtime and driver calls that return when the device is done, by their whole name or its end."""


@per_trace
def waiting_calls(trace: Trace) -> pl.DataFrame:
    """Rows of ``trace.slices`` of calls that wait for the device, in order of id."""
    calls = trace.slices.filter(pl.col("category") == Category.RUNTIME)
    names = calls["name_code"].to_numpy()
    waits = codes.of_names(trace, names, lambda n: WAITING.match(n) is not None, np.bool_)
    return calls.filter(pl.Series(waits))


def blocked(trace: Trace) -> Intervals:
    """When the host waited for the device in such a call."""
    calls = waiting_calls(trace)
    start = calls["start_ns"].to_numpy()
    return union(start, start + calls["dur_ns"].to_numpy())
