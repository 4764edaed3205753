"""Cases: concurrent slots, order of arrival, a full waiting room, a wait that is too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from torch_tb_profiler.server.errors import BusyError
from torch_tb_profiler.server.gate import Gate, WaitingRoom

PATIENCE_S = 20.0


def until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.001)


def test_concurrency_is_limited_to_the_slots() -> None:
    gate = Gate(3, WaitingRoom(100, PATIENCE_S, 1))
    lock, inside, most = threading.Lock(), [0], [0]

    def work(_: int) -> None:
        with gate.slot():
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.001)
            with lock:
                inside[0] -= 1

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(work, range(200)))
    assert most == [3]


def test_the_longest_waiting_thread_is_next() -> None:
    gate = Gate(1, WaitingRoom(10, PATIENCE_S, 1))
    order: list[int] = []

    def work(number: int) -> None:
        with gate.slot():
            order.append(number)

    gate.enter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        until(lambda number=number: len(gate._turns) == number + 1)  # type: ignore[misc]
    gate.leave()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert order == [0, 1, 2, 3, 4]


def test_a_full_waiting_room_rejects_and_recovers() -> None:
    room = WaitingRoom(1, PATIENCE_S, 7)
    gate = Gate(1, room)
    gate.enter()
    waiting = threading.Thread(target=gate.enter)
    waiting.start()
    until(lambda: len(gate._turns) == 1)
    with pytest.raises(BusyError) as caught:
        gate.enter()
    assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "7"})
    gate.leave()
    waiting.join(PATIENCE_S)
    gate.leave()
    with gate.slot(), room.seat():
        pass


def test_a_wait_times_out() -> None:
    gate = Gate(1, WaitingRoom(5, 0.05, 1))
    gate.enter()
    with pytest.raises(BusyError):
        gate.enter()
    gate.leave()
    with gate.slot():  # the place did not go to the one that gave up
        pass


def test_a_slot_is_freed_after_an_error() -> None:
    gate = Gate(1, WaitingRoom(0, 0, 1))
    with pytest.raises(ZeroDivisionError), gate.slot():
        raise ZeroDivisionError
    with gate.slot():
        pass
