"""Cases: extremes of any stretches of any array; a step curve in any buckets by brute force; means
of a level; the queue of launches; memory and counters of a file as tracks; no values at all.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import call, kernel, memory, op, trace
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.timeline.counter_screen import counter_screen
from torch_tb_profiler.views.timeline.curves import MeanCurve, StepCurve
from torch_tb_profiler.views.timeline.extremes import BLOCK, Extremes
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.screen import Viewport


@examples(60)
@given(st.integers(1, 5 * BLOCK), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_extremes_of_any_stretch(size: int, seed: int, stretches: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=size)
    first = rng.integers(0, size, stretches)
    last = np.array([rng.integers(low + 1, size + 1) for low in first])
    lowest, highest = Extremes(values).of(first, last)
    assert lowest.tolist() == [values[a:b].min() for a, b in zip(first, last, strict=True)]
    assert highest.tolist() == [values[a:b].max() for a, b in zip(first, last, strict=True)]


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(-5, 5)), max_size=30),
    st.integers(-10, 50),
    st.lists(st.integers(1, 20), min_size=1, max_size=12),
)
def test_step_curve_against_every_moment(
    changes: list[tuple[int, int]], start: int, widths: list[int]
) -> None:
    changes.sort(key=lambda change: change[0])
    time = np.array([change[0] for change in changes], np.int64)
    value = np.array([change[1] for change in changes], np.float64)
    edges = start + np.concatenate(([0], np.cumsum(widths)))
    points = StepCurve(time, value).points(edges)
    at = {int(bucket): row for row, bucket in enumerate(points.bucket)}
    current = float("nan")
    for bucket, (low, high) in enumerate(itertools.pairwise(edges)):
        before = [v for t, v in changes if t < low]
        inside = [v for t, v in changes if low <= t < high]
        seen = before[-1:] + inside
        if bucket in at:
            row = at[bucket]
            expected = (min(seen), max(seen), seen[-1]) if seen else (np.nan,) * 3
            got = (points.lowest[row], points.highest[row], points.last[row])
            assert np.array_equal(got, expected, equal_nan=True)
            current = points.last[row]
        else:
            assert not inside
            assert np.array_equal(current, before[-1] if before else np.nan, equal_nan=True)


def test_mean_curve() -> None:
    curve = MeanCurve.of_levels(np.array([10, 20, 40]), np.array([100.0, 50.0, 0.0]))
    points = curve.points(np.array([0, 5, 15, 25, 35, 45, 55, 65]))
    assert points.bucket.tolist() == [0, 1, 2, 3, 4, 5]
    assert points.last.tolist() == [0, 50, 75, 50, 25, 0]


def test_the_queue_counts_what_waits() -> None:
    events = [call("cudaLaunchKernel", 10 * i, 2, corr=i + 1) for i in range(3)]
    events += [kernel("k", 50 + 10 * i, 10, corr=i + 1) for i in range(3)]
    built = timeline(trace(events))
    (number,) = (i for i, t in enumerate(built.tracks) if t.title == "Launch queue length")
    shown = counter_screen(built, [number], Viewport(0, 80_000, 80), 10**6)
    moments = [int(b) << shown.shift for b in shown.bucket]
    assert shown.last.tolist() == [1, 2, 3, 2, 1, 0]
    for moment, expected in zip(moments, [0, 10_000, 20_000, 50_000, 60_000, 70_000], strict=True):
        assert 0 <= expected - moment < 1 << shown.shift
    assert built.tracks[number].maximum == 3


def test_memory_of_devices_under_their_device() -> None:
    events = [
        op("x", 0, 100),
        kernel("k", 0, 10),
        memory(10, 512, address=1, allocated=512, reserved=2048),
        memory(20, -512, address=1, allocated=0, reserved=2048),
        memory(30, 64, address=2, device_type=0, allocated=64, reserved=0),
    ]
    built = timeline(trace(events))
    result = {
        track.title: (track.group, track.maximum) for track in built.tracks if track.unit == "bytes"
    }
    assert result == {
        "GPU 0 memory allocated": ("d0", 512),
        "GPU 0 memory reserved": ("d0", 2048),
        "CPU memory allocated": ("p1000", 64),
    }


def test_counters_share_the_size_that_is_allowed() -> None:
    events = [kernel("k", 2 * i, 1, blocks=0.5, corr=i + 1) for i in range(3000)]
    events += [call("cudaLaunchKernel", 2 * i - 0.5, 0.1, corr=i + 1) for i in range(1, 3000)]
    built = timeline(trace(events))
    numbers = list(built.counters)
    assert len(numbers) == 3
    shown = counter_screen(built, numbers, Viewport(0, 6_000_000, 4000), 10_000)
    assert len(shown.bucket) * 16 <= 10_000
    assert shown.first.tolist()[-1] == len(shown.bucket)


def test_of_masses_of_counters_those_with_most_points_are_drawn() -> None:
    points = [(f"rare{number}", number) for number in range(700)]
    points += [("often", at) for at in range(50)]
    where = {"pid": 1, "tid": 1}
    events = [{"ph": "X", "cat": "cpu_op", "name": "x", "ts": 0, "dur": 1000, **where}]
    events += [
        {"ph": "C", "name": name, "ts": at, "args": {"used": at}, **where} for name, at in points
    ]
    text = json.dumps({"traceEvents": events}).encode()
    built = timeline(build_trace(import_trace([text], name="x")))
    drawn = {track.title: track.maximum for track in built.tracks if track.kind == "counter"}
    assert len(drawn) == 500
    assert drawn["often: used"] == 49
    assert built.counters_left_out == 201
