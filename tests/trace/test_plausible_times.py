"""Cases: an ordinary recording, untouched; times and lengths that 64 bits cannot add up."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import columns, memory, op
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.plausible_times import REACH_NS, limit_times
from torch_tb_profiler.trace.quality import QualityReport

YEAR_US = 365 * 86_400 * 10**6


@pytest.mark.parametrize("origin_us", [0, 56 * YEAR_US, -100])
def test_an_ordinary_recording_stays(origin_us: int) -> None:
    events = columns([op("a", origin_us, 5), op("b", origin_us + YEAR_US, 7), memory(3, 8)])
    before = {name: dict(events.tables[name]) for name in ("slices", "memory")}
    quality = QualityReport()
    limit_times(events, quality)
    moved = {"far_time": 1} if origin_us > REACH_NS // 1000 else {}
    assert quality.counts == moved
    assert events.tables["slices"]["start_ns"] is before["slices"]["start_ns"]
    assert events.tables["slices"]["dur_ns"] is before["slices"]["dur_ns"]


def test_far_times_are_moved_and_counted() -> None:
    trace = build_trace(
        columns([op("a", 10, 5), op("b", 20, 5), op("c", 60 * YEAR_US, 5), memory(-(10**15), 8)])
    )
    assert trace.quality.counts["far_time"] == 2
    assert trace.slices["start_ns"].to_list() == [10_000, 20_000, 20_000 + REACH_NS]
    assert trace.slices["dur_ns"].to_list() == [5000, 5000, 0]
    assert trace.memory["time_ns"].to_list() == [20_000 - REACH_NS]


def test_lengths_below_zero_are_none() -> None:
    trace = build_trace(columns([op("a", 10, -5), op("b", 20, 5)]))
    assert trace.quality.counts["negative_duration"] == 1
    assert trace.slices["dur_ns"].to_list() == [0, 5000]


def test_lengths_add_up_within_64_bits() -> None:
    count = 100
    events = columns([op("a", 10, 5) for _ in range(count)])
    events.tables["slices"]["dur_ns"] = np.full(count, 2**57)
    trace = build_trace(events)
    assert trace.quality.counts["huge_duration"] == count
    assert 0 < trace.slices["dur_ns"].sum() <= 2**62
    assert trace.slices["dur_ns"].min() == trace.slices["dur_ns"].max()
