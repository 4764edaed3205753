"""The process of a query: it is used again, and is gone when nobody waits for it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from torch_tb_profiler.requests.errors import Problem, RequestError
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.process import QueryProcess, not_cancelled, query_process

LIMITS = SqlLimits(time_s=20.0)


def own_id() -> int:
    return os.getpid()


def sleep_with_mark(folder: str) -> None:
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)


def abort() -> None:
    os.abort()


def refuse() -> Problem:
    return Problem("some_code", "Some message.", "Some hint.")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until_gone(pid: int) -> bool:
    end_s = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < end_s:
        time.sleep(0.05)
    return not is_running(pid)


def test_a_process_is_used_again() -> None:
    pids = []
    for _ in range(2):
        with query_process() as process:
            pids.append(process.call(LIMITS, not_cancelled, own_id))
    assert pids[0] == pids[1] != os.getpid()


def test_a_problem_is_an_error() -> None:
    with query_process() as process, pytest.raises(RequestError) as caught:
        process.call(LIMITS, not_cancelled, refuse)
    assert caught.value.problem == refuse()


@pytest.mark.parametrize("how", ["time", "cancel", "interrupt"])
def test_a_process_is_killed_when_nobody_waits(tmp_path: Path, how: str) -> None:
    def is_cancelled() -> bool:
        if how == "time" or not list(tmp_path.iterdir()):
            return False
        if how == "interrupt":
            raise KeyboardInterrupt
        return True

    limits = SqlLimits(time_s=8.0 if how == "time" else 40.0)
    process = QueryProcess()
    expected = KeyboardInterrupt if how == "interrupt" else RequestError
    with pytest.raises(expected) as caught:
        process.call(limits, is_cancelled, sleep_with_mark, str(tmp_path))
    if isinstance(caught.value, RequestError):
        assert caught.value.problem.code == {"time": "sql_time", "cancel": "sql_cancelled"}[how]
    assert not process.is_usable
    (mark,) = tmp_path.iterdir()
    assert until_gone(int(mark.name))


def test_the_death_of_a_process_is_an_error_and_the_next_query_works() -> None:
    with query_process() as process, pytest.raises(RequestError) as caught:
        process.call(LIMITS, not_cancelled, abort)
    assert caught.value.problem.code == "sql_memory"
    with query_process() as process:
        assert process.call(LIMITS, not_cancelled, own_id) != os.getpid()
