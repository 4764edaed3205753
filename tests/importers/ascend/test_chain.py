"""The chain from a task to its operator, against a brute-force search."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.ascend.chain import (
    NONE,
    SlicesWithId,
    SliceTimes,
    TaskQueue,
    link_launches,
    starting_at,
)
from torch_tb_profiler.trace.columns import ABSENT

ROWS = ("operator", "put", "take", "call", "task")


def slices_of(*rows: tuple[int, int, int]) -> SliceTimes:
    """Slices of (track, start, duration)."""
    track, start, dur = np.array(rows, np.int64).T
    return SliceTimes(track.astype(np.int32), start, dur)


def slices_with_ids(*pairs: tuple[int, int]) -> SlicesWithId:
    rows, ids = np.array(pairs, np.int64).reshape(-1, 2).T
    return SlicesWithId(rows, ids)


NO_QUEUE = TaskQueue(slices_with_ids(), slices_with_ids())


def test_a_task_is_launched_by_the_call_of_its_connection() -> None:
    slices = slices_of((0, 0, 100), (0, 10, 5), (1, 20, 50), (1, 30, 5), (2, 90, 9), (2, 99, 9))
    chain = link_launches(
        slices,
        slices_with_ids((4, 7), (5, 7)),
        slices_with_ids((3, 7)),
        TaskQueue(slices_with_ids((1, 50)), slices_with_ids((2, 50))),
        np.array([0, NONE]),
    )
    assert chain.launch.tolist() == [NONE] * 4 + [3, 3], "a batch: one call, two tasks"
    assert chain.owner.tolist() == [NONE, NONE, NONE, 1, NONE, NONE]
    assert (chain.unlinked_count, chain.mismatch_count) == (0, 0)


def test_without_calls_the_arrow_gives_the_operator() -> None:
    slices = slices_of((0, 0, 100), (2, 90, 9), (2, 99, 9))
    chain = link_launches(
        slices,
        slices_with_ids((1, ABSENT), (2, 8)),
        slices_with_ids(),
        NO_QUEUE,
        np.array([0, NONE]),
    )
    assert chain.launch.tolist() == [NONE, 0, NONE]
    assert chain.unlinked_count == 1


def test_without_a_queue_the_arrow_owns_calls_of_another_thread() -> None:
    slices = slices_of((0, 0, 10), (0, 2, 2), (1, 30, 5), (2, 90, 9), (2, 99, 9))
    work, calls = slices_with_ids((3, 7), (4, 8)), slices_with_ids((1, 7), (2, 8))
    chain = link_launches(slices, work, calls, NO_QUEUE, np.array([0, 0]))
    assert chain.launch.tolist() == [NONE] * 3 + [1, 2]
    assert chain.owner.tolist() == [NONE, NONE, 0, NONE, NONE], (
        "an operator that contains its call needs no owner"
    )
    assert chain.mismatch_count == 0


def test_an_arrow_from_elsewhere_is_a_mismatch() -> None:
    slices = slices_of((0, 0, 10), (0, 50, 10), (0, 52, 2), (2, 90, 9))
    chain = link_launches(
        slices, slices_with_ids((3, 7)), slices_with_ids((2, 7)), NO_QUEUE, np.array([0])
    )
    assert chain.launch.tolist() == [NONE, NONE, NONE, 2]
    assert chain.mismatch_count == 1


def test_an_arrow_may_begin_a_nanosecond_off() -> None:
    slices = slices_of((0, 100, 10), (0, 200, 10), (1, 100, 10))
    rows = starting_at(
        slices, np.array([0, 1]), np.array([0, 0, 0, 1], np.int32), np.array([101, 199, 103, 100])
    )
    assert rows.tolist() == [0, 1, NONE, NONE]


SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 10), st.integers(0, 4)),
    max_size=24,
)


@given(SPANS, st.data())
def test_any_recording_is_linked_as_by_a_search(
    spans: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    kinds = [data.draw(st.sampled_from(ROWS)) for _ in spans]
    free: dict[int, int] = {}
    rows: dict[str, list[int]] = {kind: [] for kind in ROWS}
    drawn = []
    for row, (kind, (track, start, dur, _)) in enumerate(zip(kinds, spans, strict=True)):
        at = free.get(track, 0) + start if kind == "take" else start
        if kind == "take":
            free[track] = at + dur + 1
        rows[kind].append(row)
        drawn.append((track, at, dur))
    if not drawn:
        return
    slices = slices_of(*drawn)
    ids = [each[3] for each in spans]

    def ids_of(kind: str) -> SlicesWithId:
        return slices_with_ids(*((row, ids[row]) for row in rows[kind]))

    chain = link_launches(
        slices, ids_of("task"), ids_of("call"), TaskQueue(ids_of("put"), ids_of("take")),
        np.full(len(rows["task"]), NONE),
    )  # fmt: skip
    for task in rows["task"]:
        calls = [call for call in rows["call"] if ids[call] == ids[task]]
        assert chain.launch[task] == (calls[0] if calls else NONE)
    for call in rows["call"]:
        track, start, _ = drawn[call]
        enclosing = [
            take for take in rows["take"]
            if drawn[take][0] == track and drawn[take][1] <= start <= sum(drawn[take][1:])
        ]  # fmt: skip
        puts = [put for take in enclosing for put in rows["put"] if ids[put] == ids[take]]
        assert chain.owner[call] == (puts[0] if puts else NONE)
