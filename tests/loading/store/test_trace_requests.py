"""Cases: a repeated request keeps its rank; an answered or abandoned one needs nothing any more;
traces of an older request rank before those of a newer one, except traces that were left out.
"""

from __future__ import annotations

import pytest

from torch_tb_profiler.loading.store import trace_requests
from torch_tb_profiler.loading.store.entries import Key
from torch_tb_profiler.loading.store.trace_requests import TraceRequests

A: Key = ("a", "trace")
B: Key = ("b", "trace")
SMALL_C: Key = ("c", "summary")


def test_a_repeated_request_keeps_its_rank() -> None:
    requests = TraceRequests()
    first = requests.register([A])
    second = requests.register([B, A])
    assert requests.register([A]) is first
    assert list(requests) == [first, second]
    requests.complete(first)
    assert list(requests) == [second]
    requests.complete(first)  # by two threads with the same request
    assert requests.register([A]) is not first


def test_the_oldest_request_decides_the_rank() -> None:
    requests = TraceRequests()
    requests.register([A, SMALL_C])
    newer = requests.register([B, A])
    assert requests.ranks() == {A: 0, SMALL_C: 0, B: 1}
    newer.left_out.add(B)
    assert B not in requests.ranks()


def test_a_request_that_is_not_repeated_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = TraceRequests()
    requests.register([A])
    monkeypatch.setattr(trace_requests, "ABANDONED_S", -1.0)
    assert list(requests) == []
    assert requests.ranks() == {}
