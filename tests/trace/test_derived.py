"""A derived value is computed once, even by concurrent threads; it can be dropped meanwhile."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.helpers.traces import op, trace
from torch_tb_profiler.trace.derived import PerTrace, per_trace
from torch_tb_profiler.trace.model import Trace


def test_two_threads_share_what_one_computes() -> None:
    recorded = trace([op("x", 0, 1)])
    begun, may_end = threading.Event(), threading.Event()
    calls = []

    @per_trace
    def shared(_trace: Trace) -> object:
        calls.append(threading.current_thread().name)
        begun.set()
        assert may_end.wait(10)
        return object()

    @per_trace
    def other(_trace: Trace) -> int:
        return 5

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared, recorded)
        assert begun.wait(10)
        second = pool.submit(shared, recorded)
        assert other(recorded) == 5
        may_end.set()
        assert first.result(10) is second.result(10)
    assert len(calls) == 1


def test_each_trace_has_a_value_of_its_own() -> None:
    one, two = trace([op("x", 0, 1)]), trace([op("x", 0, 1), op("y", 1, 1)])

    @per_trace
    def height(recorded: Trace) -> int:
        """How many slices."""
        return recorded.slices.height

    assert (height(one), height(two)) == (1, 2)
    assert (one.derived.count, height.__doc__) == (1, "How many slices.")


def test_what_could_not_be_computed_is_tried_again() -> None:
    recorded = trace([op("x", 0, 1)])
    attempts = iter((ValueError("not yet"), 7))

    @per_trace
    def value(_trace: Trace) -> int:
        attempt = next(attempts)
        if isinstance(attempt, Exception):
            raise attempt
        return attempt

    with pytest.raises(ValueError, match="not yet"):
        value(recorded)
    assert value(recorded) == 7


def test_a_value_may_need_another() -> None:
    recorded = trace([op("x", 0, 1)])
    inner = PerTrace(lambda _trace: 2)
    outer = PerTrace(lambda of: inner(of) + 1)
    assert outer(recorded) == 3
    assert recorded.derived.count == 2


def test_what_was_computed_can_be_dropped_and_computed_again() -> None:
    recorded = trace([op("x", 0, 1)])
    values = iter(([2], [3]))
    content: PerTrace[list[int]] = PerTrace(lambda _trace: [9])
    computed: PerTrace[list[int]] = PerTrace(lambda _trace: next(values))
    content.provide(recorded, [1])
    assert computed(recorded) == [2]
    derived = recorded.derived
    assert (derived.count, derived.computed, derived.provided) == (1, [[2]], [[1]])
    derived.drop()
    assert (derived.count, derived.computed) == (0, [])
    assert content(recorded) == [1]
    assert computed(recorded) == [3]


def test_dropping_during_computations_is_safe() -> None:
    recorded = trace([op("x", 0, 1)])

    def ask(number: int) -> list[int]:
        handle = PerTrace(lambda _trace: number)
        return [handle(recorded) for _ in range(500)]

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(ask, number) for number in range(20)]
            while not all(answer.done() for answer in answers):
                recorded.derived.drop()
        assert [answer.result() for answer in answers] == [[n] * 500 for n in range(20)]
    finally:
        sys.setswitchinterval(interval_s)


def test_a_handle_knows_whether_its_value_is_computed() -> None:
    recorded = trace([op("x", 0, 1)])
    computed, given = PerTrace(lambda _trace: 1), PerTrace(lambda _trace: 2)
    assert not computed.is_computed(recorded)
    computed(recorded)
    given.provide(recorded, 3)
    assert computed.is_computed(recorded)
    recorded.derived.drop()
    assert (computed.is_computed(recorded), given.is_computed(recorded)) == (False, True)
