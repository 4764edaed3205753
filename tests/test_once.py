"""Cases: one call for any number of threads, the same object for all; an error is not cached; such
functions may call each other and keep their name and documentation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from torch_tb_profiler.once import once


def test_one_thread_makes_it_and_all_get_it() -> None:
    calls: list[object] = []

    @once
    def thing() -> object:
        calls.append(object())
        time.sleep(0.01)  # lets the others come
        return calls[-1]

    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(thing())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(calls) == 1
    assert answers == calls * 16


def test_an_error_is_passed_on_and_the_next_call_tries_again() -> None:
    answers: Iterator[int | ValueError] = iter([ValueError("not yet"), 7])

    @once
    def thing() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not yet"):
        thing()
    assert [thing(), thing()] == [7, 7]


def test_one_may_need_another_and_keeps_its_name() -> None:
    @once
    def inner() -> list[int]:
        """What is inside."""
        return [1]

    @once
    def outer() -> list[int]:
        return inner() * 2

    assert outer() == [1, 1]
    assert (inner.__name__, inner.__doc__) == ("inner", "What is inside.")
