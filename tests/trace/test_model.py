"""What several views share of a trace is made once, also where two threads ask at a time; it can be
dropped while they do."""

from __future__ import annotations

import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.helpers.traces import op, trace


def test_two_threads_share_what_one_makes() -> None:
    recorded = trace([op("x", 0, 1)])
    begun, may_end = threading.Event(), threading.Event()
    calls = []

    def make() -> object:
        calls.append(threading.current_thread().name)
        begun.set()
        assert may_end.wait(10)
        return object()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(recorded.derived, "shared", make)
        assert begun.wait(10)
        second = pool.submit(recorded.derived, "shared", make)
        assert recorded.derived("other", lambda: 5) == 5
        may_end.set()
        assert first.result(10) is second.result(10)
    assert len(calls) == 1


def test_what_could_not_be_made_is_tried_again() -> None:
    recorded = trace([op("x", 0, 1)])

    def fail() -> int:
        raise ValueError("not yet")

    with pytest.raises(ValueError, match="not yet"):
        recorded.derived("key", fail)
    assert recorded.derived("key", lambda: 7) == 7


def test_a_key_may_need_another() -> None:
    recorded = trace([op("x", 0, 1)])
    made = recorded.derived("outer", lambda: recorded.derived("inner", lambda: 2) + 1)
    assert made == 3
    assert recorded.derived("inner", lambda: 9) == 2


def test_what_was_made_can_be_dropped_and_made_again() -> None:
    recorded = trace([op("x", 0, 1)])
    recorded.give("content", [1])
    recorded.derived("made", lambda: [2])
    assert (recorded.derived_count, recorded.derived_values, recorded.given) == (1, [[2]], [[1]])
    recorded.drop_derived()
    assert (recorded.derived_count, recorded.derived_values) == (0, [])
    assert recorded.derived("content", lambda: [9]) == [1]
    assert recorded.derived("made", lambda: [3]) == [3]


def test_dropping_while_others_derive_disturbs_nobody() -> None:
    recorded = trace([op("x", 0, 1)])
    keys = [f"key {number}" for number in range(20)]

    def ask(key: str) -> list[str]:
        return [recorded.derived(key, lambda: key) for _ in range(500)]

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(ask, key) for key in keys]
            while not all(answer.done() for answer in answers):
                recorded.drop_derived()
        assert [answer.result() for answer in answers] == [[key] * 500 for key in keys]
    finally:
        sys.setswitchinterval(interval_s)


def test_a_trace_can_be_referred_to_weakly() -> None:
    assert weakref.ref(recorded := trace([op("x", 0, 1)]))() is recorded
