"""Cases: a call that does not return, a long one with progress, errors of the call, a store with
several stuck threads, the timeout from the environment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from torch_tb_profiler.storage.deadlines import (
    MAX_STUCK_THREADS,
    TIMEOUT_S,
    TIMEOUT_VARIABLE,
    NoAnswerError,
    call,
    remote_timeout_s,
    report_progress,
    request,
)

LIMIT_S = 0.2


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    monkeypatch.setenv(TIMEOUT_VARIABLE, str(LIMIT_S))
    event = threading.Event()
    yield event
    event.set()


def test_a_call_that_does_not_come_back_is_given_up(released: threading.Event) -> None:
    with pytest.raises(NoAnswerError, match=r"no answer within 0\.2 s"):
        call("stuck", released.wait)


def test_progress_gives_more_time_up_to_the_whole(released: threading.Event) -> None:
    def pages(count: int) -> int:
        for _ in range(count):
            time.sleep(LIMIT_S / 4)
            report_progress()
        return count

    assert call("pages", lambda: pages(8), total_s=60.0) == 8
    with pytest.raises(NoAnswerError):
        call("pages", lambda: pages(1000), total_s=4 * LIMIT_S)


def test_errors_of_the_call_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        call("wrong", lambda: 1 // 0)


def test_a_store_with_stuck_threads_gets_no_more_requests(released: threading.Event) -> None:
    for _ in range(MAX_STUCK_THREADS):
        with pytest.raises(NoAnswerError):
            call("holds", released.wait)
    asked = threading.Event()
    with pytest.raises(NoAnswerError):
        call("holds", asked.set)
    assert not asked.is_set()
    released.set()
    until_s = time.monotonic() + 30
    while not asked.is_set() and time.monotonic() < until_s:
        with suppress(NoAnswerError):
            call("holds", asked.set)
    assert asked.is_set()


def test_requests_to_a_blocking_filesystem_have_a_deadline(released: threading.Event) -> None:
    class Blocking:
        protocol = "blocking"
        async_impl = False

        def info(self, path: str) -> dict[str, str]:
            return {"name": path}

        def ls(self) -> bool:
            return released.wait(60)

    assert request(Blocking(), "info", "x") == {"name": "x"}
    with pytest.raises(NoAnswerError):
        request(Blocking(), "ls")


@pytest.mark.parametrize(
    ("given", "limit_s"), [("3.5", 3.5), ("", TIMEOUT_S), ("0", TIMEOUT_S), ("soon", TIMEOUT_S)]
)
def test_the_limit_is_the_environments(
    monkeypatch: pytest.MonkeyPatch, given: str, limit_s: float
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, given)
    assert remote_timeout_s() == limit_s
