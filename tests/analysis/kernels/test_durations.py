"""Durations of kernels by name and launch shape, against a plain sum over the events."""

from __future__ import annotations

from statistics import median

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import Event, kernel, trace
from torch_tb_profiler.analysis.kernels.durations import (
    CLOCKS,
    KERNEL_DURATIONS,
    clocks,
    kernel_durations,
)
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.trace.model import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
SHORT, LONG = [1, 1, 1], [2, 1, 1]
EVENTS: list[Event] = [
    kernel("a", 0, 20, grid=SHORT, block=SHORT),
    kernel("a", 20, 40, grid=SHORT, block=SHORT),
    kernel("a", 60, 50, grid=SHORT, block=SHORT),
    kernel("a", 110, 30, grid=LONG, block=SHORT),
    kernel("short", 140, 5, grid=SHORT, block=SHORT),
    kernel("a", 200, 90, grid=SHORT, block=SHORT),
    kernel(NCCL, 280, 30, stream=20),
    kernel("b", 305, 100, device=1),
]


def test_kernels_that_overlap_communication_and_short_ones_do_not_count() -> None:
    paces = kernel_durations(trace(EVENTS))
    assert dict(paces.schema) == dict(KERNEL_DURATIONS)
    rows = paces.select("kernel", "grid", "calls", "median_ns", "total_ns").rows()
    durations = [20_000, 40_000, 50_000]
    assert rows == [
        ("a", "[1, 1, 1]", 3, median(durations), sum(durations)),
        ("a", "[2, 1, 1]", 1, 30_000, 30_000),
    ]
    whole = 20 + 40 + 50 + 30 + 5 + 90 + 100
    assert paces["of_all_pct"].to_list() == pytest.approx([110 / whole * 100, 30 / whole * 100])


def test_the_longest_call_is_reported() -> None:
    of = trace(EVENTS)
    row = kernel_durations(of).row(0, named=True)
    assert (row["start_ns"], row["dur_ns"]) == (60_000, 50_000)
    assert of.slices.row(row["longest"], named=True)["start_ns"] == 60_000


def test_without_kernels_there_is_nothing() -> None:
    assert kernel_durations(trace([])).is_empty()


def counted(of: Trace, *values: tuple[str, float]) -> Trace:
    """The trace with values of counters."""
    texts = np.array([*of.strings, *(name for name, _ in values)], np.object_)
    rows = [
        {"track": 0, "name_code": row, "series_code": row, "time_ns": 0, "value": value}
        for row, (_, value) in enumerate(values, len(of.strings))
    ]
    counters = pl.DataFrame(rows, schema=of.counters.schema)
    return replace(of, strings=texts, counters=counters, derived=DerivedValues())


def test_clocks_are_means_of_their_counters() -> None:
    assert clocks(trace(EVENTS)).is_empty()
    clock_rates = clocks(counted(trace(EVENTS), ("SM Clock (MHz)", 1200.0), ("Power (W)", 300.0)))
    assert dict(clock_rates.schema) == dict(CLOCKS)
    assert clock_rates.rows() == [("SM clock", 1200.0)]


def test_clocks_of_samples_are_those_of_devices_in_use_while_kernels_ran() -> None:
    begin_us, end_us = 0, max(event["ts"] + event["dur"] for event in EVENTS)
    sampled = [
        Sample("GPU 0", "SM clock", "MHz", at, mhz)
        for at, mhz in ((begin_us - 50, 300), (begin_us, 1000), (end_us - 1, 1400), (end_us, 300))
    ]
    others = [Sample("GPU 7", "SM clock", "MHz", begin_us, 1), Sample("GPU 0", "power", "W", 0, 5)]
    assert clocks(recorded(EVENTS, samples=sampled + others)).rows() == [("SM clock", 1200.0)]
    around = clocks(recorded(EVENTS, samples=[sampled[0], sampled[-1]]))
    assert around.rows() == [("SM clock", 300.0)]
