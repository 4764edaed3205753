"""The way from a task to its operator, against a search without any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.ascend.chain import (
    NONE,
    Marked,
    Queue,
    Slices,
    follow,
    starting_at,
)
from torch_tb_profiler.trace.columns import ABSENT

ROWS = ("operator", "put", "take", "call", "task")


def slices_of(*rows: tuple[int, int, int]) -> Slices:
    """Slices of (track, start, duration)."""
    track, start, dur = np.array(rows, np.int64).T
    return Slices(track.astype(np.int32), start, dur)


def marked(*pairs: tuple[int, int]) -> Marked:
    rows, ids = np.array(pairs, np.int64).reshape(-1, 2).T
    return Marked(rows, ids)


NO_QUEUE = Queue(marked(), marked())


def test_a_task_is_launched_by_the_call_of_its_connection_made_for_an_entry() -> None:
    slices = slices_of((0, 0, 100), (0, 10, 5), (1, 20, 50), (1, 30, 5), (2, 90, 9), (2, 99, 9))
    chain = follow(
        slices,
        marked((4, 7), (5, 7)),
        marked((3, 7)),
        Queue(marked((1, 50)), marked((2, 50))),
        np.array([0, NONE]),
    )
    assert chain.launch.tolist() == [NONE] * 4 + [3, 3], "a batch: one call, two tasks"
    assert chain.owner.tolist() == [NONE, NONE, NONE, 1, NONE, NONE]
    assert (chain.unlinked, chain.differing) == (0, 0)


def test_without_calls_the_arrow_tells_the_operator() -> None:
    slices = slices_of((0, 0, 100), (2, 90, 9), (2, 99, 9))
    chain = follow(slices, marked((1, ABSENT), (2, 8)), marked(), NO_QUEUE, np.array([0, NONE]))
    assert chain.launch.tolist() == [NONE, 0, NONE]
    assert chain.unlinked == 1


def test_without_a_queue_the_arrow_owns_calls_of_another_thread() -> None:
    slices = slices_of((0, 0, 10), (0, 2, 2), (1, 30, 5), (2, 90, 9), (2, 99, 9))
    work, calls = marked((3, 7), (4, 8)), marked((1, 7), (2, 8))
    chain = follow(slices, work, calls, NO_QUEUE, np.array([0, 0]))
    assert chain.launch.tolist() == [NONE] * 3 + [1, 2]
    assert chain.owner.tolist() == [NONE, NONE, 0, NONE, NONE], "who holds its call needs no word"
    assert chain.differing == 0


def test_an_arrow_from_elsewhere_is_told_and_does_not_count() -> None:
    slices = slices_of((0, 0, 10), (0, 50, 10), (0, 52, 2), (2, 90, 9))
    chain = follow(slices, marked((3, 7)), marked((2, 7)), NO_QUEUE, np.array([0]))
    assert chain.launch.tolist() == [NONE, NONE, NONE, 2]
    assert chain.differing == 1


def test_an_arrow_may_begin_a_nanosecond_off() -> None:
    slices = slices_of((0, 100, 10), (0, 200, 10), (1, 100, 10))
    found = starting_at(
        slices, np.array([0, 1]), np.array([0, 0, 0, 1], np.int32), np.array([101, 199, 103, 100])
    )
    assert found.tolist() == [0, 1, NONE, NONE]


SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 10), st.integers(0, 4)),
    max_size=24,
)


@given(SPANS, st.data())
def test_any_recording_is_followed_as_a_search_finds_it(
    spans: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    kinds = [data.draw(st.sampled_from(ROWS)) for _ in spans]
    free: dict[int, int] = {}
    rows: dict[str, list[int]] = {kind: [] for kind in ROWS}
    placed = []
    for row, (kind, (track, start, dur, _)) in enumerate(zip(kinds, spans, strict=True)):
        at = free.get(track, 0) + start if kind == "take" else start
        if kind == "take":
            free[track] = at + dur + 1
        rows[kind].append(row)
        placed.append((track, at, dur))
    if not placed:
        return
    slices = slices_of(*placed)
    ids = [each[3] for each in spans]

    def of(kind: str) -> Marked:
        return marked(*((row, ids[row]) for row in rows[kind]))

    chain = follow(
        slices, of("task"), of("call"), Queue(of("put"), of("take")),
        np.full(len(rows["task"]), NONE),
    )  # fmt: skip
    for task in rows["task"]:
        calls = [call for call in rows["call"] if ids[call] == ids[task]]
        assert chain.launch[task] == (calls[0] if calls else NONE)
    for call in rows["call"]:
        track, start, _ = placed[call]
        around = [
            take for take in rows["take"]
            if placed[take][0] == track and placed[take][1] <= start <= sum(placed[take][1:])
        ]  # fmt: skip
        puts = [put for take in around for put in rows["put"] if ids[put] == ids[take]]
        assert chain.owner[call] == (puts[0] if puts else NONE)
