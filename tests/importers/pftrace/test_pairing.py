"""Begins and ends against a stack per track, and against the order in which PyTorch writes them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.pftrace.pairing import durations
from torch_tb_profiler.trace.columns import ColumnArrays
from torch_tb_profiler.trace.quality import QualityReport

Mark = tuple[bool, int, int]
"""Whether it is a begin, its time, its track."""


def tables(marks: list[Mark]) -> tuple[ColumnArrays, ColumnArrays]:
    columns: list[ColumnArrays] = [
        {
            "packet": np.array([i for i, mark in enumerate(marks) if mark[0] is kind], np.int64),
            "time_ns": np.array([mark[1] for mark in marks if mark[0] is kind], np.int64),
            "track": np.array([mark[2] for mark in marks if mark[0] is kind], np.int32),
        }
        for kind in (True, False)
    ]
    return columns[0], columns[1]


def by_stack(marks: list[Mark]) -> tuple[list[int], dict[str, int]]:
    """Durations of the begins in order, and the counts of unmatched events."""
    last: dict[int, int] = {}
    for _, time, track in marks:
        last[track] = max(last.get(track, time), time)
    duration: dict[int, int] = {}
    stacks: dict[int, list[int]] = {}
    counts = {"unmatched_end": 0, "unmatched_begin": 0}
    for index in sorted(range(len(marks)), key=lambda i: (marks[i][1], i)):
        is_begin, time, track = marks[index]
        stack = stacks.setdefault(track, [])
        if is_begin:
            stack.append(index)
        elif stack:
            opened = stack.pop()
            duration[opened] = time - marks[opened][1]
        else:
            counts["unmatched_end"] += 1
    for track, stack in stacks.items():
        counts["unmatched_begin"] += len(stack)
        duration |= {index: last[track] - marks[index][1] for index in stack}
    return [duration[i] for i, mark in enumerate(marks) if mark[0]], counts


MARKS = st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 2)), max_size=24)


@given(MARKS)
def test_in_order_of_time_a_stack_pairs_them(marks: list[Mark]) -> None:
    marks.sort(key=lambda mark: mark[1])  # as a program writes them while it runs
    quality = QualityReport()
    result = durations(*tables(marks), quality)
    expected, counts = by_stack(marks)
    assert result.tolist() == expected
    assert quality.counts == {code: count for code, count in counts.items() if count}


SLICES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2)), min_size=1)


@given(SLICES, SLICES)
def test_blocks_of_begins_keep_their_own_ends(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    block = [(0, 100, 0), (10, 20, 0), *first]  # the first ends last: no brackets
    marks: list[Mark] = []
    for some in (block, second):
        marks += [(True, start, track) for start, _, track in some]
        marks += [(False, start + duration, track) for start, duration, track in some]
    quality = QualityReport()
    result = durations(*tables(marks), quality)
    assert result.tolist() == [duration for _, duration, _ in (*block, *second)]
    assert quality.counts == {}


def test_a_cut_in_the_last_block_costs_its_last_ends() -> None:
    marks = [(True, 0, 0), (True, 1, 0), (True, 5, 0), (False, 9, 0), (False, 3, 0)]
    quality = QualityReport()
    assert durations(*tables(marks), quality).tolist() == [9, 2, 4]
    assert quality.counts == {"unmatched_begin": 1}


def test_nothing_is_nothing() -> None:
    assert durations(*tables([]), QualityReport()).size == 0


def test_time_that_runs_back_between_tracks_is_no_written_order() -> None:
    marks = [(True, 0, 0), (True, 10, 0), (True, 5, 1), (False, 20, 0), (False, 30, 0)]
    marks.append((False, 7, 1))
    assert durations(*tables(marks), QualityReport()).tolist() == [30, 10, 2]
