"""Copy bandwidth and the queues of streams, drawn and exported, against every moment of random
recordings."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, kernel, memcpy, memset, op, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.device_counters import MAX_QUEUES
from torch_tb_profiler.views.timeline.index import timeline

END = 400
DIRECTIONS = {"HtoD": "Host-to-device copies", "DtoH": "Device-to-host copies"}


class Work(NamedTuple):
    """A piece of device work, times in whole µs; ``size`` None for a kernel, 0 for no size."""

    launched: int
    started: int
    dur: int
    device: int
    stream: int
    direction: str | None
    size: int


works = st.lists(
    st.builds(
        Work,
        launched=st.integers(0, 200),
        started=st.integers(0, 200),
        dur=st.integers(0, 60),
        device=st.integers(0, 1),
        stream=st.sampled_from([7, 9, 13]),
        direction=st.sampled_from([None, "HtoD", "DtoH"]),
        size=st.sampled_from([0, 1000, 12_000, 999_999]),
    ),
    max_size=14,
)


def recording(work: list[Work]) -> list[Event]:
    events = [op("train", 0, END)]
    for number, each in enumerate(work, 1):
        where: dict[str, Any] = {"corr": number, "device": each.device, "stream": each.stream}
        start = each.launched + each.started
        events.append(call("cudaLaunchKernel", each.launched, 0.5, corr=number, tid=number))
        if each.direction is None:
            events.append(kernel("k", start, each.dur, **where))
        else:
            size = {"bytes": each.size} if each.size else {}
            name = f"Memcpy {each.direction} (Pinned -> Device)"
            events.append(memcpy(start, each.dur, name=name, **where, **size))
    return events


def rate_at(work: list[Work], device: int, direction: str, moment: float) -> float:
    return sum(
        each.size / (each.dur * 1000)
        for each in work
        if (each.device, each.direction) == (device, direction)
        and each.dur
        and each.launched + each.started <= moment < each.launched + each.started + each.dur
    )


def waiting_at(work: list[Work], device: int, stream: int, moment: float) -> int:
    return sum(
        each.launched <= moment < each.launched + each.started
        for each in work
        if (each.device, each.stream) == (device, stream)
    )


def drawn(built: Trace) -> dict[tuple[int | None, str], list[float]]:
    """Per device and title the value in the middle of every µs."""
    shown = timeline(built)
    edges = np.arange(END + 1, dtype=np.int64) * 1000
    values: dict[tuple[int | None, str], list[float]] = {}
    for counter in shown.counters.values():
        points = counter.curve.points(edges)
        at = np.searchsorted(points.bucket, np.arange(END), "right") - 1
        values[counter.track.device, counter.track.title] = points.last[at].tolist()
    return values


@examples(60)
@given(works)
def test_rates_and_queues_at_every_moment(work: list[Work]) -> None:
    values = drawn(trace(recording(work)))
    moments = [moment + 0.5 for moment in range(END)]
    for device in (0, 1):
        for direction, title in DIRECTIONS.items():
            expected = [rate_at(work, device, direction, moment) for moment in moments]
            actual = values.get((device, title), [0.0] * END)
            assert actual == pytest.approx(expected, abs=1e-9)
        waits = {
            stream: [waiting_at(work, device, stream, moment) for moment in moments]
            for stream in (7, 9, 13)
        }
        waited = {stream: waiting for stream, waiting in waits.items() if any(waiting)}
        titles = {title for of, title in values if of == device and "queue, stream" in title}
        assert titles == {f"Launch queue, stream {stream}" for stream in waited if len(waited) > 1}
        if len(waited) > 1:
            for stream, waiting in waited.items():
                assert values[device, f"Launch queue, stream {stream}"] == waiting


@examples(30)
@given(works)
def test_exports_have_the_same_values(work: list[Work]) -> None:
    built = trace(recording(work))
    events = json.loads(b"".join(chrome_json(built, Selection())))["traceEvents"]
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "C" and ("Copy" in event["name"] or "Queue" in event["name"]):
            (value,) = event["args"].values()
            points[event["name"]].append((event["ts"], value))
    base_us = built.meta.start_ns / 1000
    for device in (0, 1):
        for moment in (0.5, 40.5, 120.5, 250.5):
            for direction in DIRECTIONS:
                name = f"GPU {device} Copy Bandwidth {direction}"
                expected = rate_at(work, device, direction, moment)
                actual = _value_at(points[name], moment + base_us)
                assert math.isclose(actual, expected, abs_tol=1e-9)
            for stream in (7, 9, 13):
                name = f"GPU {device} Stream {stream} Launch Queue"
                expected = waiting_at(work, device, stream, moment)
                assert _value_at(points[name], moment + base_us) == expected


def _value_at(points: list[tuple[float, float]], moment: float) -> float:
    before = [value for at, value in points if at <= moment]
    return before[-1] if before else 0.0


def test_sets_and_copies_without_a_size_have_no_rate() -> None:
    events = [op("train", 0, END), memset(10, 20, bytes=500), memcpy(40, 20), memcpy(70, 0)]
    titles = {title for _, title in drawn(trace(events))}
    assert not any("copies" in title.lower() and "GPU" not in title for title in titles)


def test_of_many_streams_the_busiest_are_drawn_and_the_others_counted() -> None:
    events = [op("train", 0, 4000)]
    number = 0
    for stream in range(1, MAX_QUEUES + 4):
        for _ in range(stream):
            number += 1
            events.append(call("cudaLaunchKernel", 10 * number, 1, corr=number))
            events.append(kernel("k", 10 * number + 5, 2, corr=number, stream=stream))
    shown = timeline(trace(events))
    titles = [track.title for track in shown.tracks if "queue, stream" in track.title]
    assert titles == [f"Launch queue, stream {stream}" for stream in range(4, MAX_QUEUES + 4)]
    assert shown.counters_left_out == 3
