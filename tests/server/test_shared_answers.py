"""Cases: one computation for concurrent identical requests, and only for them; errors; a full
waiting room, a computation that takes too long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from torch_tb_profiler.server.errors import BusyError
from torch_tb_profiler.server.gate import WaitingRoom
from torch_tb_profiler.server.shared_answers import SharedAnswers

PATIENCE_S = 20.0


class Work:
    """Counts its calls and waits until it may end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        self.begun.set()
        self.may_end.wait(PATIENCE_S)
        return self.times


def test_concurrent_equal_requests_are_computed_once() -> None:
    room = WaitingRoom(30, PATIENCE_S, 1)
    answers: SharedAnswers[int] = SharedAnswers(room)
    work = Work()
    with ThreadPoolExecutor(31) as pool:
        first = pool.submit(answers.answer, "q", work)
        assert work.begun.wait(PATIENCE_S)
        others = [pool.submit(answers.answer, "q", work) for _ in range(30)]
        end_s = time.monotonic() + PATIENCE_S
        while room._free > 0 and time.monotonic() < end_s:
            time.sleep(0.001)
        assert answers.answer("another", lambda: 7) == 7
        work.may_end.set()
        assert [future.result() for future in (first, *others)] == [1] * 31
    assert answers.answer("q", work) == 2


def test_an_error_reaches_all_and_is_not_cached() -> None:
    answers: SharedAnswers[int] = SharedAnswers(WaitingRoom(1, PATIENCE_S, 1))

    def fail() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answers.answer("q", fail)
    assert answers.answer("q", lambda: 1) == 1


@pytest.mark.parametrize("room", [WaitingRoom(0, PATIENCE_S, 1), WaitingRoom(5, 0.05, 1)])
def test_no_seat_or_wait_too_long(room: WaitingRoom) -> None:
    answers: SharedAnswers[int] = SharedAnswers(room)
    work = Work()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(answers.answer, "q", work)
        assert work.begun.wait(PATIENCE_S)
        with pytest.raises(BusyError):
            answers.answer("q", work)
        work.may_end.set()
        assert first.result() == 1
