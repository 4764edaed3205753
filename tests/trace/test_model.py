"""What several views share of a trace is made once, also where two threads ask at a time."""

from __future__ import annotations

import threading
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
