"""Offsets of clocks: by hand, along chains, and of random clocks against the truth."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import polars as pl

from torch_tb_profiler.analysis.communication.offsets import (
    components,
    disagreement,
    offsets_from,
    pair_offsets,
)


def ends(events: Sequence[Mapping[int, float]]) -> pl.DataFrame:
    """Per event its end by clock."""
    rows = [(clock, match, end) for match, at in enumerate(events) for clock, end in at.items()]
    schema = {"worker": pl.Int64, "match": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame([(c, m, round(e)) for c, m, e in rows], schema=schema, orient="row")


def test_a_pair_differs_by_the_median_and_scatters_by_its_deviations() -> None:
    frame = pair_offsets(ends([{0: 100, 1: 90}, {0: 200, 1: 188}, {0: 300, 1: 289}]))
    (row,) = frame.select("first", "second", "offset_ns", "count").rows()
    assert row == (0, 1, 11, 3)
    # Deviations of 10, 12 and 11 from 11: 1, 1, 0, whose median is 1.
    assert frame["sigma_ns"].to_list() == [1.4826]


def test_clocks_that_share_no_event_are_compared_through_those_between_them() -> None:
    """The mesh of the issue: ranks 0 1 / 2 3, rows and columns; 0 and 3 are in no group."""
    shift = {0: 0, 1: 500, 2: -300, 3: 2000}
    groups = ((0, 1), (2, 3), (0, 2), (1, 3))
    events = [
        {rank: 1000 * number + 10 * index - shift[rank] for rank in group}
        for number in range(4)
        for index, group in enumerate(groups)
    ]
    offsets = offsets_from(pair_offsets(ends(events), 0), 0)
    assert {rank: offset.offset_ns for rank, offset in offsets.items()} == shift
    assert {rank: offset.hops for rank, offset in offsets.items()} == {0: 0, 1: 1, 2: 1, 3: 2}
    assert offsets[3].count == 4


def test_the_most_certain_chain_counts() -> None:
    """Directly by one event that ended late, or through a third clock by ten."""
    events: list[dict[int, float]] = [{0: 0, 2: 5000}]
    events += [{0: 100 * n, 1: 100 * n} for n in range(10)]
    events += [{1: 100 * n + 7, 2: 100 * n + 7} for n in range(10)]
    pairs = pair_offsets(ends(events), 0)
    offsets = offsets_from(pairs, 0)
    assert (offsets[2].offset_ns, offsets[2].hops, offsets[2].count) == (0, 2, 10)
    assert disagreement(pairs, offsets)[2] == 2500, "median of 0 with 1 and 5000 with 0"


def test_clocks_that_nothing_connects_are_apart() -> None:
    pairs = pair_offsets(ends([{0: 1, 1: 1}, {2: 5, 3: 9}]))
    assert components(pairs, range(5)) == {0: 0, 1: 0, 2: 2, 3: 2, 4: 4}
    assert sorted(offsets_from(pairs, 0)) == [0, 1]
    assert offsets_from(pairs, 0)[1].uncertainty_ns is None, "one end says nothing about scatter"


def test_random_meshes_are_solved_within_their_noise() -> None:
    """Groups over random meshes, ends with noise and every twentieth recorded 1 ms late."""
    for seed in range(20):
        source = random.Random(seed)
        rows, columns = source.randint(2, 6), source.randint(2, 6)
        shift = {rank: source.randint(-(10**9), 10**9) for rank in range(rows * columns)}
        shift[0] = 0
        groups = [tuple(range(r * columns, (r + 1) * columns)) for r in range(rows)]
        groups += [tuple(range(c, rows * columns, columns)) for c in range(columns)]
        events = [
            {
                rank: number * 10**6
                + source.gauss(0, 1000)
                + (10**6 if source.random() < 0.05 else 0)
                - shift[rank]
                for rank in group
            }
            for number in range(30)
            for group in groups
        ]
        reference = source.randrange(rows * columns)
        offsets = offsets_from(pair_offsets(ends(events), reference), reference)
        assert len(offsets) == rows * columns
        for rank, offset in offsets.items():
            error = abs(offset.offset_ns - (shift[rank] - shift[reference]))
            assert offset.uncertainty_ns is not None
            assert error <= max(6 * offset.uncertainty_ns, 1), (seed, rank, error, offset)
            assert offset.uncertainty_ns < 2000


def test_a_drift_is_measured_and_followed_along_a_chain() -> None:
    """Clock 1 runs 10 µs per second fast, clock 2 as much slow; six ends a second apart are enough,
    whatever number the clocks count from."""
    seconds = [n * 10**9 for n in range(6)]
    begin = 10**15
    fast = [round(begin + at * (1 + 1e-5)) for at in seconds]
    slow = [round(at * (1 - 1e-5)) for at in seconds]
    events: list[dict[int, float]] = [{0: at, 1: fast[n]} for n, at in enumerate(seconds)]
    events += [{1: fast[n], 2: slow[n]} for n in range(6)]
    offsets = offsets_from(pair_offsets(ends(events), 0), 0)
    assert round(offsets[1].drift * 1e6, 3) == -10
    assert round(offsets[2].drift * 1e6, 3) == 10
    for n, at in enumerate(seconds):
        assert abs(fast[n] + offsets[1].at(fast[n]) - at) <= 2
        assert abs(slow[n] + offsets[2].at(slow[n]) - at) <= 2


def test_noise_is_no_drift() -> None:
    source = random.Random(3)
    drifts = 0
    for _ in range(200):
        events = [{0: 10**6 * n, 1: 10**6 * n + source.gauss(0, 1000)} for n in range(30)]
        drifts += offsets_from(pair_offsets(ends(events)), 0)[1].drift != 0
    assert drifts <= 6
