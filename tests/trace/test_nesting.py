"""Nesting: parents, depths and lanes against a quadratic reference; deep and unusual input."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import columns, op
from torch_tb_profiler.trace.blocks import BLOCK_ROWS
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns, Track, empty_table
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.ordering import OrderedSlices, order_slices

Interval = tuple[int, int, int]
"""Track, start, duration in ns."""

intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20)), max_size=25
)


def ordered(given_slices: list[Interval]) -> OrderedSlices:
    return order_slices(
        columns([op("x", start / 1000, dur / 1000, tid=t) for t, start, dur in given_slices])
    )


def forest_of(given_slices: list[Interval], tolerance_ns: int = 0) -> tuple[OrderedSlices, Forest]:
    slices = ordered(given_slices)
    return slices, nest(slices, np.arange(len(slices.start_ns)), tolerance_ns)


def reference_parents(slices: OrderedSlices) -> list[int]:
    """The definition itself: the nearest earlier slice that holds this one's end and start."""
    track, start, end = slices.track, slices.start_ns, slices.end_ns
    return [
        max(
            (
                j
                for j in range(i)
                if track[j] == track[i] and end[j] >= end[i] and end[j] > start[i]
            ),
            default=-1,
        )
        for i in range(len(start))
    ]


def reference_depth(parents: list[int], row: int) -> int:
    return 0 if parents[row] < 0 else 1 + reference_depth(parents, parents[row])


@given(intervals)
def test_parents_and_depths_are_those_of_the_definition(given_slices: list[Interval]) -> None:
    slices, forest = forest_of(given_slices)
    parents = reference_parents(slices)
    assert forest.parent.tolist() == parents
    assert forest.depth.tolist() == [reference_depth(parents, i) for i in range(len(parents))]


@given(intervals, st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 60)), max_size=10))
def test_innermost_is_the_last_slice_that_is_open(
    given_slices: list[Interval], moments: list[tuple[int, int]]
) -> None:
    slices, forest = forest_of(given_slices)
    names = {track: slices.track[i] for i, (track, _, _) in enumerate(sorted(given_slices))}
    moments = [(int(names[track]), time) for track, time in moments if track in names]
    expected = [
        max(
            (
                i
                for i in range(len(slices.start_ns))
                if slices.track[i] == track and slices.start_ns[i] <= time < slices.end_ns[i]
            ),
            default=-1,
        )
        for track, time in moments
    ]
    tracks = np.array([track for track, _ in moments], np.int32)
    innermost = forest.innermost(tracks, np.array([time for _, time in moments], np.int64))
    assert innermost.tolist() == expected


@given(intervals)
def test_what_shares_a_lane_nests_or_is_apart(given_slices: list[Interval]) -> None:
    slices, forest = forest_of(given_slices)
    for i in range(len(forest.ids)):
        for j in range(i):
            together = slices.track[i] == slices.track[j] and forest.lane[i] == forest.lane[j]
            inside = slices.end_ns[i] <= slices.end_ns[j]
            apart = slices.start_ns[i] >= slices.end_ns[j]
            assert not together or inside or apart
    assert (forest.crossing_count > 0) == bool((forest.lane > 0).any())


@given(intervals, st.integers(1, 3))
def test_a_child_sticks_out_by_no_more_than_the_tolerance(
    given_slices: list[Interval], tolerance_ns: int
) -> None:
    slices, forest = forest_of(given_slices, tolerance_ns)
    for child, parent in zip(forest.ids, forest.parent, strict=True):
        if parent >= 0:
            depth = forest.depth[child]
            assert slices.start_ns[parent] <= slices.start_ns[child]
            assert slices.end_ns[child] <= slices.end_ns[parent] + tolerance_ns * depth
            assert depth == forest.depth[parent] + 1


def test_crossing_slices_get_separate_lanes() -> None:
    a, b, c, d = (0, 0, 100), (0, 50, 100), (0, 60, 10), (0, 160, 10)
    _, forest = forest_of([a, b, c, d])
    assert forest.parent.tolist() == [-1, -1, 1, -1]
    assert forest.lane.tolist() == [0, 1, 1, 0]
    assert forest.crossing_count == 1


def test_contents_of_a_crossing_slice_share_its_lane() -> None:
    outer, a, in_a = (0, 0, 1000), (0, 10, 100), (0, 20, 0)
    crossing, in_crossing, moment = (0, 50, 100), (0, 60, 10), (0, 80, 0)
    _, forest = forest_of([outer, a, in_a, crossing, in_crossing, moment])
    assert forest.parent.tolist() == [-1, 0, 1, 0, 3, 3]
    assert forest.lane.tolist() == [0, 0, 0, 1, 1, 1]
    assert forest.crossing_count == 1


def test_the_next_slice_does_not_fall_into_a_child_that_sticks_out() -> None:
    whole_us = 1000
    parent, child, following = (0, 0, 10_000), (0, 1000, 10_000), (0, 10_000, 1000)
    _, forest = forest_of([parent, child, following], whole_us)
    assert forest.parent.tolist() == [-1, 0, -1]
    assert forest.crossing_count == 0


def test_slices_of_length_zero() -> None:
    slices, forest = forest_of([(0, 0, 10), (0, 0, 0), (0, 5, 0), (0, 5, 0), (0, 10, 0)])
    assert slices.dur_ns.tolist() == [10, 0, 0, 0, 0]
    assert forest.parent.tolist() == [-1, 0, 0, 0, -1]
    assert forest.depth.tolist() == [0, 1, 1, 1, 0]


def test_times_too_far_apart_for_a_joint_key() -> None:
    far = 2**61
    _, forest = forest_of([(0, 0, 10), (0, 1, 5), (1, far, 9000), (1, far + 2048, 1024)])
    assert forest.parent.tolist() == [-1, 0, -1, 2]
    assert forest.innermost(np.array([0, 1], np.int32), np.array([3, far + 3000])).tolist() == [
        1,
        3,
    ]


def made_of(track: list[int], start: np.ndarray, dur: np.ndarray) -> EventColumns:
    table = empty_table("slices")
    count = len(start)
    for name in table:
        table[name] = np.zeros(count, table[name].dtype)
    table |= {"start_ns": start.astype(np.int64), "dur_ns": dur.astype(np.int64)}
    table["track"] = np.array(track, np.int32)
    table["category"] = np.full(count, Category.OPERATOR, np.int8)
    return EventColumns("test", {"slices": table}, ["x"], [Track("1", "1")], 0, 1)


def test_ten_thousand_levels() -> None:
    depth = 10_000
    level = np.arange(depth)
    slices = order_slices(made_of([0] * depth, level, 2 * (depth - level)))
    forest = nest(slices, np.arange(depth), 1)
    assert forest.parent.tolist() == list(range(-1, depth - 1))
    assert forest.depth.tolist() == list(range(depth))


def test_half_a_million_frames_forty_deep() -> None:
    stacks, depth = 12_500, 40
    level = np.tile(np.arange(depth), stacks)
    start = np.repeat(np.arange(stacks) * 100, depth) + level
    events = made_of([0] * len(start), start, 90 - 2 * level)
    slices = order_slices(events)
    forest = nest(slices, np.arange(len(start)), 1)
    assert forest.depth.tolist() == level.tolist()


def test_more_lookups_than_a_block_has_rows() -> None:
    _, forest = forest_of([(0, 0, 100), (0, 10, 20), (1, 5, 50)])
    count = BLOCK_ROWS + 7
    track, time_ns = np.arange(count) % 2, np.arange(count) % 110
    expected = np.where(
        track == 1,
        np.where((time_ns >= 5) & (time_ns < 55), 2, -1),
        np.where(time_ns >= 100, -1, np.where((time_ns >= 10) & (time_ns < 30), 1, 0)),
    )
    assert np.array_equal(forest.innermost(track.astype(np.int32), time_ns), expected)


def test_one_crossing_slice_among_many_keeps_all_others_nested() -> None:
    count = 50_000
    start = np.arange(count) * 10
    crossing = np.append(start, [count * 10 - 15])
    dur = np.append(np.full(count, 8), 5)
    slices = order_slices(made_of([0] * (count + 1), crossing, dur))
    forest = nest(slices, np.arange(count + 1), 0)
    assert forest.crossing_count == 1
    assert np.flatnonzero(forest.lane).tolist() == [count - 1]
    assert (forest.parent == -1).all()
