"""The processes that queries run in: started when needed, and killed when the time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import TypeVar

from torch_tb_profiler.loading.processes.executors import LocalExecutor, WorkerDiedError
from torch_tb_profiler.requests.errors import Problem, RequestError
from torch_tb_profiler.sql.duckdb_problems import memory_problem, time_problem
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.memory_limit import OUT_OF_MEMORY_EXIT

T = TypeVar("T")

MAX_PROCESSES = 4
"""Queries that run at once; further ones wait."""

POLL_S = 0.05
"""How soon a query of somebody who does not wait for it any more is ended."""

_OUT_OF_MEMORY = (f"exit code {OUT_OF_MEMORY_EXIT}", "SIGABRT", "SIGKILL", "SIGBUS")
"""How a process ends that cannot allocate memory, or that the system ends for lack of it."""

IsCancelled = Callable[[], bool]


def not_cancelled() -> bool:
    """Somebody waits for the answer."""
    return False


class QueryProcess:
    """A process that computes for one query at a time."""

    def __init__(self) -> None:
        self._executor = LocalExecutor(1)
        self.is_usable = True

    def call(
        self,
        limits: SqlLimits,
        is_cancelled: IsCancelled,
        function: Callable[..., T | Problem],
        *arguments: object,
    ) -> T:
        """The result of ``function``, computed in the process.

        Raises:
            RequestError: the function returned a problem, the time is up, the memory does not
                suffice, or nobody waits any more.
        """
        future: Future[T | Problem] = self._executor.submit(function, *arguments)
        end_s = time.monotonic() + limits.time_s
        result: T | Problem
        try:
            while True:
                try:
                    result = future.result(POLL_S)
                    break
                except FutureTimeoutError:
                    if time.monotonic() > end_s:
                        result = time_problem(limits)
                        self.kill()
                        break
                    if is_cancelled():
                        result = Problem("sql_cancelled", "The query was cancelled.")
                        self.kill()
                        break
        except WorkerDiedError as error:
            self.kill()
            result = _death(str(error), limits)
        except BaseException:
            self.kill()
            raise
        if isinstance(result, Problem):
            raise RequestError(result.code, result.message, result.hint)
        return result

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.is_usable = False
        self._executor.shutdown(wait=False)


def _death(reason: str, limits: SqlLimits) -> Problem:
    if any(sign in reason for sign in _OUT_OF_MEMORY):
        return memory_problem(limits)
    message = f"The process of the query ended: {reason}."
    return Problem("sql_failed", message, "Simplify the query, and please report it.")


_SLOTS = threading.BoundedSemaphore(MAX_PROCESSES)
_LOCK = threading.Lock()
_IDLE: list[QueryProcess] = []


@contextmanager
def query_process(is_cancelled: IsCancelled = not_cancelled) -> Iterator[QueryProcess]:
    """A process for one query; one that is idle, if there is one. It ends when it was idle for a
    minute, or with this process.

    Raises:
        RequestError: nobody waits any more.
    """
    while not _SLOTS.acquire(timeout=POLL_S):
        if is_cancelled():
            raise RequestError("sql_cancelled", "The query was cancelled.")
    try:
        with _LOCK:
            process = _IDLE.pop() if _IDLE else QueryProcess()
        yield process
        with _LOCK:
            if process.is_usable and not _IDLE:
                _IDLE.append(process)
                return
        process.kill()
    finally:
        _SLOTS.release()
