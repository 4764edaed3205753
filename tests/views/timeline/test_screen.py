"""Cases: any recording in any view loses nothing (number and busy time per lane, by brute force
over the slices themselves); wide slices come whole; narrow neighbours merge; crowded lanes get
wider buckets within the size allowed; lanes without room are counted; empty and outside views; a
trace of one event.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, columns, kernel, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.categories import COMMUNICATION
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline, timeline
from torch_tb_profiler.views.timeline.screen import Screen, Viewport, screen

ROOMY = 10**9


def drawn(built: Timeline, view: Viewport, max_bytes: int = ROOMY) -> Screen:
    return screen(built.lanes, np.arange(len(built.lanes.track)), view, max_bytes)


def lane_slices(built: Timeline) -> dict[int, list[tuple[int, int]]]:
    """Lane → (start, end) of its slices, from the trace's own table (merged tracks left out)."""
    result: dict[int, list[tuple[int, int]]] = {}
    lanes = built.lanes
    for lane in range(len(lanes.track)):
        for position in range(int(lanes.first[lane]), int(lanes.first[lane + 1])):
            slice_id = int(lanes.slice[position])
            if slice_id != NO_SLICE:
                row = built.trace.slices.row(slice_id, named=True)
                start = row["start_ns"] - built.origin_ns
                result.setdefault(lane, []).append((start, start + row["dur_ns"]))
    return result


def busy_moments(slices: list[tuple[int, int]], start: int, end: int) -> int:
    """Nanoseconds of [start, end) in which one of the slices runs, moment by moment."""
    moments: set[int] = set()
    for low, high in slices:
        moments.update(range(max(low, start), min(high, end)))
    return len(moments)


def in_view(slices: list[tuple[int, int]], view: Viewport) -> int:
    return sum(
        low < view.end_ns and (high > view.start_ns or low == high >= view.start_ns)
        for low, high in slices
    )


def check_nothing_lost(built: Timeline, view: Viewport, shown: Screen) -> None:
    expected = {
        lane: slices for lane, slices in lane_slices(built).items() if in_view(slices, view)
    }
    numbers = shown.lane.tolist()
    for lane, slices in expected.items():
        at = numbers.index(lane)
        whole = shown.whole[slice(*shown.whole_first[at : at + 2])]
        merged = slice(*shown.merged_first[at : at + 2])
        assert len(whole) + int(shown.count[merged].sum()) == in_view(slices, view)
        assert (shown.count[merged] >= 2).all()
        start = built.lanes.start_ns[whole]
        inside = np.minimum(built.lanes.end_ns(whole), view.end_ns) - np.maximum(
            start, view.start_ns
        )
        busy = int(inside.sum() + shown.busy_ns[merged].sum())
        bucket_ns = 1 << int(shown.shift[at])
        assert abs(busy - busy_moments(slices, view.start_ns, view.end_ns)) <= bucket_ns
        wide = [times for times in slices if times[1] - times[0] >= bucket_ns]
        drawn_whole = zip(start.tolist(), built.lanes.end_ns(whole).tolist(), strict=True)
        assert set(drawn_whole) >= {times for times in wide if in_view([times], view)}


@st.composite
def views(draw: st.DrawFn) -> Viewport:
    start = draw(st.integers(-200, 2000))
    width_px = draw(st.integers(1, 60) | st.integers(1, 4000))
    return Viewport(start, start + draw(st.integers(1, 3000)), width_px)


def slowed(event: Event) -> Event:
    """Ten times as long and late: an overlap of 1 ns is rounding and makes no lane."""
    return {**event, "ts": event["ts"] * 10, "dur": event["dur"] * 10}


@examples(150)
@given(recordings(), views(), st.sampled_from([ROOMY, 600, 200]))
def test_nothing_is_lost_in_any_view(recording: Recording, view: Viewport, max_bytes: int) -> None:
    built = timeline(trace(slowed(event) for event in recording.events))
    shown = drawn(built, view, max_bytes)
    if not shown.lanes_left_out:
        check_nothing_lost(built, view, shown)


KERNELS = st.lists(st.tuples(st.integers(0, 150), st.integers(0, 40)), min_size=1, max_size=60)


@examples(150)
@given(KERNELS, views())
def test_nothing_is_lost_of_overlapping_kernels(
    kernels: list[tuple[int, int]], view: Viewport
) -> None:
    built = timeline(trace(kernel("k", start / 100, dur / 100) for start, dur in kernels))
    check_nothing_lost(built, view, drawn(built, view))
    (stream,) = (track for track in built.tracks if track.kind == "device_stream")
    assert stream.slices == len(kernels)
    most = max(sum(low <= now < low + dur for low, dur in kernels) for now in range(200))
    assert stream.lanes >= most
    assert (stream.overlap_from is None) == (stream.lanes == 1)


RUNS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8) | st.integers(20, 200)), min_size=1, max_size=80
)


@examples(150)
@given(RUNS, st.integers(-50, 400), st.integers(50, 3000), st.integers(1, 60))
def test_nothing_is_lost_where_wide_and_narrow_slices_alternate(
    runs: list[tuple[int, int]], start: int, length: int, width_px: int
) -> None:
    events, now = [], 0
    for gap, dur in runs:
        events.append(kernel("k", (now + gap) / 1000, dur / 1000))
        now += gap + dur
    view = Viewport(start, start + length, width_px)
    built = timeline(trace(events))
    check_nothing_lost(built, view, drawn(built, view))


def many(count: int, dur: float, every: float, tid: int = 1) -> list[Event]:
    return [op("aten::add", every * i, dur, tid=tid) for i in range(count)]


def names_of(built: Timeline, positions: np.ndarray) -> list[str | None]:
    codes = built.trace.slices["name_code"].gather(built.lanes.slice[positions].astype(np.int64))
    return [built.trace.text(code) for code in codes]


def test_wide_slices_come_whole_and_narrow_neighbours_merge() -> None:
    events = [*many(100, 0.05, 0.1), op("aten::mm", 20, 100)]
    built = timeline(trace(events))
    shown = drawn(built, Viewport(0, 128_000, 128))
    assert (1 << shown.shift).tolist() == [512]
    assert names_of(built, shown.whole) == ["aten::mm"]
    # 100 operators, ten per µs, in buckets of 512 ns: from 0 to 9.95 µs.
    assert shown.count.sum() == 100
    assert shown.bucket.tolist() == list(range(20))
    assert shown.busy_ns.sum() == 5000
    assert not shown.coarse


def test_a_narrow_slice_that_is_alone_keeps_its_name() -> None:
    built = timeline(trace([op("first", 0, 1), op("tiny", 500, 0.001), op("last", 999, 1)]))
    shown = drawn(built, Viewport(0, 1_000_000, 10))
    assert names_of(built, shown.whole) == ["first", "tiny", "last"]
    assert not len(shown.count)


def test_a_slice_that_covers_the_view_is_there() -> None:
    built = timeline(trace([op("long", 0, 1000), op("later", 2000, 1)]))
    assert names_of(built, drawn(built, Viewport(500_000, 500_100, 1000)).whole) == ["long"]
    assert not len(drawn(built, Viewport(1_000_000, 1_500_000, 1000)).whole)
    assert not len(drawn(built, Viewport(-900, -100, 1000)).lane)


def test_crowded_lanes_share_what_is_allowed_and_sparse_ones_stay_sharp() -> None:
    events = [*many(4000, 0.2, 1.0), *many(5, 3.0, 700.0, tid=2)]
    built = timeline(trace(events))
    view = Viewport(0, 4_000_000, 4000)
    shown = drawn(built, view, max_bytes=2000)
    crowded, sparse = shown.shift.tolist()
    assert shown.coarse
    assert sparse == view.shift < crowded
    assert len(shown.count) * 9 <= 2000
    check = shown.count.sum() + len(shown.whole)
    assert check == 4005


def test_overlaps_within_the_clock_make_no_lane_and_count_once() -> None:
    times = [(0, 10), (9.2, 0.6), (9.85, 10.15), (40, 5)]
    events = [kernel("k", start, dur) for start, dur in times]
    built = timeline(build_trace(columns(events, time_unit_ns=1000)))
    (stream,) = (track for track in built.tracks if track.kind == "device_stream")
    assert (stream.lanes, stream.overlap_from) == (1, None)
    at = built.tracks.index(stream)
    for width_px in (10, 50_000):
        shown = drawn(built, Viewport(0, 50_000, width_px))
        lane = built.lanes.track[shown.lane].tolist().index(at)
        whole = shown.whole[slice(*shown.whole_first[lane : lane + 2])]
        merged = slice(*shown.merged_first[lane : lane + 2])
        assert len(whole) + shown.count[merged].sum() == 4
        added = built.lanes.end_ns(whole) - built.lanes.start_ns[whole]
        assert added.sum() + shown.busy_ns[merged].sum() == 25_000


def test_lanes_without_room_are_counted() -> None:
    built = timeline(trace([event for tid in range(50) for event in many(3, 0.5, 1.0, tid=tid)]))
    shown = drawn(built, Viewport(0, 10_000, 100), max_bytes=1000)
    assert shown.lanes_left_out > 0
    assert shown.lanes_left_out + len(shown.lane) == 50


def test_main_category_is_that_with_most_time() -> None:
    events = [kernel("gemm", 0.1 * i, 0.02) for i in range(6)]
    events += [kernel("ncclKernel_AllReduce", 0.1 * i + 0.03, 0.06) for i in range(6)]
    built = timeline(trace([*events, op("far", 100_000, 1)]))
    shown = drawn(built, Viewport(0, 100_000_000, 10))
    rows = {built.tracks[built.lanes.track[lane]].kind: at for at, lane in enumerate(shown.lane)}
    first = shown.merged_first[rows["device_stream"]]
    assert shown.category[first] == COMMUNICATION


@pytest.mark.parametrize(
    "event", [op("one", 5, 0), op("one", 5, 7), kernel("k", 5, 1), step(3, 5, 9)]
)
def test_a_trace_of_one_event(event: Event) -> None:
    built = timeline(trace([event]))
    view = Viewport(0, built.end_ns + 1, 800)
    shown = drawn(built, view)
    check_nothing_lost(built, view, shown)
    assert (built.lanes.slice[shown.whole] == 0).sum() == 1


def test_a_trace_of_nothing() -> None:
    built = timeline(trace([]))
    assert built.tracks == []
    assert not len(drawn(built, Viewport(0, 1, 10)).lane)


def test_every_corpus_sample_keeps_every_slice(sample_traces: list[Trace]) -> None:
    for result in sample_traces:
        built = timeline(result)
        shown = drawn(built, Viewport(0, built.end_ns + 1, 1000), max_bytes=200_000)
        real = built.lanes.slice[shown.whole] != NO_SLICE
        of_merged = np.repeat(shown.lane, np.diff(shown.merged_first))
        kinds = np.array([built.tracks[number].kind for number in built.lanes.track[of_merged]])
        merged = shown.count[kinds != "merged"].sum() if len(kinds) else 0
        assert real.sum() + merged == result.slices.height
