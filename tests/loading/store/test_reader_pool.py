"""Cases: as many threads as tasks; idle ones are reused, and end by themselves or when the pool is
closed; they hold no reference to past tasks."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial

import pytest

from tests.helpers.waiting import wait_until
from torch_tb_profiler.loading.store import reader_pool
from torch_tb_profiler.loading.store.reader_pool import ReaderPool

NAME = "test-reader"


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_tasks_at_the_same_time_have_a_thread_each() -> None:
    pool, barrier = ReaderPool(NAME), threading.Barrier(4)
    for _ in range(3):
        pool.submit(partial(barrier.wait, 20))
    barrier.wait(20)
    assert len(threads()) <= 3
    done = threading.Event()
    wait_until(lambda: len(threads()) == 3 and pool._idle == 3)
    pool.submit(done.set)
    assert done.wait(20)
    assert len(threads()) == 3
    pool.close()
    wait_until(lambda: not threads())


def test_a_thread_ends_when_it_has_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_pool, "IDLE_S", 0.01)
    pool, done = ReaderPool(NAME), threading.Event()
    for _ in range(2):
        done.clear()
        pool.submit(done.set)
        assert done.wait(20)
        wait_until(lambda: not threads())


class _Task:
    def __init__(self, done: threading.Event) -> None:
        self._done = done

    def __call__(self) -> None:
        self._done.set()


def test_an_idle_thread_holds_nothing() -> None:
    pool, done = ReaderPool(NAME), threading.Event()
    task = _Task(done)
    kept = weakref.ref(task)
    pool.submit(task)
    del task
    assert done.wait(20)
    wait_until(lambda: gc.collect() >= 0 and kept() is None)
    assert threads()
    pool.close()
    wait_until(lambda: not threads())
