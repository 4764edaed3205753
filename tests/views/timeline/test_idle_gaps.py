"""Idle gaps of a range with cause and neighbours, against every moment of random recordings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import annotation, call, kernel, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.views.timeline.idle_gaps import ELSEWHERE, MAX_LISTED, idle_gaps
from torch_tb_profiler.views.timeline.index import timeline

LAUNCHED = [
    annotation("train", 0, 100),
    op("aten::mm", 20, 30),
    call("cudaLaunchKernel", 25, 5, corr=1),
    kernel("gemm", 40, 25, corr=1),
    call("cudaLaunchKernel", 78, 2, corr=2),
    kernel("relu", 80, 10, corr=2),
]


def test_a_gap_says_why_and_between_what() -> None:
    actual = idle_gaps(timeline(trace(LAUNCHED)), 0, 100_000)
    first, second, last = sorted(actual.gaps, key=lambda gap: gap.gap.start_ns)
    assert first.before is None
    assert first.after is not None
    assert (first.after.name, first.after.start_ns) == ("gemm", 40_000)
    assert second.before is not None
    assert second.after is not None
    assert (second.before.name, second.after.name) == ("gemm", "relu")
    assert last.after is None
    assert (actual.count, actual.total_us) == (3, 65.0)
    assert sum(cause.dur_us for cause in first.causes) == 40.0
    assert first.causes[0].cause == "operators and launches"
    assert [entry.name for entry in first.gap.host][:2] == ["train", "aten::mm"]


def test_of_two_gpus_one_waits_while_the_other_works() -> None:
    events = [op("a", 0, 100), kernel("k0", 0, 100, device=0), kernel("k1", 40, 20, device=1)]
    actual = idle_gaps(timeline(trace(events)), 0, 100_000)
    assert {gap.gap.device for gap in actual.gaps} == {1}
    assert {cause.cause for gap in actual.gaps for cause in gap.causes} == {ELSEWHERE}


def test_the_longest_of_many() -> None:
    shown = timeline(trace(kernel("k", 10 * i, 10 - i / 100) for i in range(300)))
    actual = idle_gaps(shown, 0, 3_000_000)
    assert len(actual.gaps) == MAX_LISTED
    lengths = [gap.gap.end_ns - gap.gap.start_ns for gap in actual.gaps]
    assert lengths == sorted(lengths, reverse=True)
    assert actual.count == 298, "the first kernel fills its time, the last one ends the trace"
    assert actual.total_us == pytest.approx(sum(i / 100 for i in range(299)))


def test_without_a_device_there_are_none() -> None:
    actual = idle_gaps(timeline(trace([op("a", 0, 5)])), 0, 5_000)
    assert (actual.gaps, actual.count, actual.total_us) == ([], 0, 0.0)


@examples(60)
@given(recordings(), st.integers(0, 100), st.integers(1, 200))
def test_gaps_are_the_moments_without_work(recording: Recording, start: int, length: int) -> None:
    shown = timeline(trace(recording.events))
    actual = idle_gaps(shown, start, start + length)
    work = shown.trace.device_work
    end = min(start + length, shown.end_ns)
    for device in work["device"].drop_nulls().unique().to_list():
        own = work.filter(work["device"] == device)
        busy = np.zeros(end + 1, np.bool_)
        for begin, dur in own.select("start_ns", "dur_ns").iter_rows():
            low = begin - shown.origin_ns
            busy[max(low, 0) : max(low + dur, 0)] = True
        idle = np.flatnonzero(~busy[start:end]) + start if end > start else np.empty(0, int)
        gaps = [gap for gap in actual.gaps if gap.gap.device == device]
        if actual.count == len(actual.gaps):
            covered = [n for gap in gaps for n in range(gap.gap.start_ns, gap.gap.end_ns)]
            assert sorted(covered) == idle.tolist()
        for gap in gaps:
            length_us = (gap.gap.end_ns - gap.gap.start_ns) / 1000
            assert sum(cause.dur_us for cause in gap.causes) == pytest.approx(length_us)
            if gap.before is not None:
                assert gap.before.start_ns + gap.before.dur_ns == gap.gap.start_ns
            if gap.after is not None:
                assert gap.after.start_ns == gap.gap.end_ns
