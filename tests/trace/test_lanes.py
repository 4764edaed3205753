"""Lanes of slices that form no trees."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.lanes import FreeLanes, flat_lanes


def lanes_of(intervals: list[tuple[int, int, int]], tolerance_ns: int = 0) -> list[int]:
    track, start, end = (np.array(column) for column in zip(*intervals, strict=True))
    lanes: list[int] = flat_lanes(track.astype(np.int32), start, end, tolerance_ns).tolist()
    return lanes


def test_the_lowest_lane_that_is_free() -> None:
    lanes = FreeLanes(1)
    assert [lanes.take(0, 10), lanes.take(1, 3), lanes.take(2, 9)] == [1, 2, 3]
    assert [lanes.take(3, 4), lanes.take(9, 20), lanes.take(10, 11)] == [2, 2, 1]


def test_neighbours_that_touch_share_a_lane_and_tracks_are_apart() -> None:
    assert lanes_of([(0, 0, 10), (0, 10, 20), (1, 5, 15)]) == [0, 0, 0]


def test_slices_inside_others_are_moved_too() -> None:
    assert lanes_of([(0, 0, 100), (0, 10, 20), (0, 15, 30), (0, 40, 50)]) == [0, 1, 2, 1]
    assert lanes_of([(0, 0, 10), (0, 5, 12), (0, 12, 20)]) == [0, 1, 0]


def test_an_overlap_of_the_clocks_resolution_is_rounding() -> None:
    assert lanes_of([(0, 0, 10_000), (0, 9_000, 20_000)], 1000) == [0, 0]
    assert lanes_of([(0, 0, 10_000), (0, 8_000, 20_000)], 1000) == [0, 1]
