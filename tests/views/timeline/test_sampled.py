"""Samples on the timeline: counters by source, below the rows, with units and bounded."""

from __future__ import annotations

import numpy as np

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel, op
from torch_tb_profiler.analysis.recording.samples import MAX_SERIES
from torch_tb_profiler.views.timeline.counter_screen import counter_screen
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.screen import Viewport

EVENTS = [op("a", 100, 900), kernel("k", 150, 10)]
SAMPLES = [
    Sample("GPU 0", "SMs Active", "%", 400, 80),
    Sample("GPU 0", "SMs Active", "%", 200, 20),
    Sample("GPU 0", "SM clock", "MHz", 300, 1830),
    Sample("host", "memory", "bytes", 300, 2**30),
]


def test_a_heading_per_source_below_the_rows() -> None:
    built = timeline(recorded(EVENTS, samples=SAMPLES))
    assert [group.title for group in built.groups][-2:] == ["host: sampled", "GPU 0: sampled"]
    last = [
        (track.title, track.unit, track.unit_label, track.maximum) for track in built.tracks[-3:]
    ]
    assert last == [
        ("memory", "bytes", None, 2**30),
        ("SMs Active", "pct", None, 80),
        ("SM clock", None, "MHz", 1830),
    ]
    assert "GPU 0" in str(built.tracks[-1].help)
    assert "time since the previous sample" in str(built.tracks[-2].help)


def test_samples_of_another_clock_are_not_drawn() -> None:
    trace = recorded(EVENTS, samples=SAMPLES)
    trace.quality.add("samples_own_clock", 4)
    assert not [group for group in timeline(trace).groups if group.title.endswith("sampled")]


def test_what_is_measured_of_a_kernel_says_so() -> None:
    built = timeline(recorded(EVENTS, samples=[Sample("AI Core", "mac", "%", 300, 50)]))
    assert "per kernel" in str(built.tracks[-1].help)


def test_each_value_holds_until_the_next() -> None:
    sampled = [each._replace(metric="memory used") for each in SAMPLES[:2]]
    built = timeline(recorded(EVENTS, samples=sampled))
    number = len(built.tracks) - 1
    shown = counter_screen(built, [number], Viewport(0, 900_000, 900), 10**6)
    moments = shown.bucket << shown.shift
    assert np.isnan(shown.last[0])
    assert shown.last[1:].tolist() == [20, 80]
    assert np.all(np.abs(moments[1:] - (100_000, 300_000)) < 1 << shown.shift)


def test_masses_are_bounded_and_counted() -> None:
    many = [Sample(f"source {n}", "m", "", 200, n) for n in range(MAX_SERIES + 4)]
    built = timeline(recorded(EVENTS, samples=many))
    assert sum(track.kind == "counter" for track in built.tracks) == MAX_SERIES + 1
    assert built.counters_left_out == 4


def test_samples_of_a_recorder_stand_by_kind_and_say_what_they_are() -> None:
    sampled = [
        Sample(source, metric, "%", ts, 5)
        for source, metric in (
            ("GPU 0", "utilization"),
            ("loader worker 1", "CPU"),
            ("loader worker 0", "CPU"),
            ("process", "CPU"),
            ("host", "CPU user"),
        )
        for ts in (200, 300)
    ]
    built = timeline(recorded(EVENTS, samples=sampled))
    titles = {group.key: group.title for group in built.groups}
    assert [(titles[track.group], track.title) for track in built.tracks[-5:]] == [
        ("host: sampled", "CPU user"),
        ("process: sampled", "CPU"),
        ("workers: sampled", "loader worker 0: CPU"),
        ("workers: sampled", "loader worker 1: CPU"),
        ("GPU 0: sampled", "utilization"),
    ]
    assert "100 % is one core" in str(built.tracks[-4].help)


def test_nothing_is_drawn_where_nothing_was_sampled_for_long() -> None:
    times = [*range(1, 15), 100]  # tenths of a second
    sampled = [Sample("process", "threads", "", at * 1e5, at) for at in times]
    built = timeline(recorded([op("a", 0, 2e7)], samples=sampled))
    number = len(built.tracks) - 1
    shown = counter_screen(built, [number], Viewport(0, 12 * 10**9, 1200), 10**6)
    moments = (shown.bucket << shown.shift) / 1e9
    behind = shown.last[(moments > 1.45) & (moments < 9.9)]
    assert len(behind)
    assert np.isnan(behind).all()
    assert (shown.last[-1], built.tracks[number].maximum) == (100, 100)
