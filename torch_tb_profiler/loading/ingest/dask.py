"""The executor of a Dask cluster, for :mod:`torch_tb_profiler.loading.ingest.run`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from torch_tb_profiler.requests.errors import RequestError

CONNECT_S = 20

SCHEDULER_LOST_S = 10.0
"""A scheduler without connection for so long is lost: Dask's client would wait for ever."""

POLL_S = 0.5

P = ParamSpec("P")
T = TypeVar("T")


class SchedulerLostError(Exception):
    """The scheduler was lost with a task."""


@contextmanager
def dask_executor(scheduler: str) -> Iterator[Executor]:
    """The workers of the scheduler at an address like ``tcp://10.0.0.1:8786``.

    The scheduler passes a task whose worker dies to another one, three times. When the scheduler
    itself is lost, every remaining task fails with :class:`SchedulerLostError`.

    Raises:
        RequestError: Dask is not installed, or there is no scheduler at that address.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise RequestError(
            "missing_package",
            "--scheduler needs dask.distributed, which is not installed.",
            "pip install 'torch-tb-profiler[dask]'",
        ) from error
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RequestError(
            "no_scheduler",
            f"There is no Dask scheduler at {scheduler}.",
            "Start one with 'dask scheduler', and workers with 'dask worker ADDRESS'.",
        ) from error
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we report lost tasks
    with client:
        # Not pure: a changed file must be parsed again, whatever was computed before.
        watched = _WatchedExecutor(
            client.get_executor(pure=False), lambda: client.status == "running"
        )
        try:
            yield watched
        finally:
            watched.shutdown(wait=False)


class _WatchedExecutor(Executor):
    """An executor whose tasks fail when it is lost."""

    def __init__(self, executor: Executor, is_there: Callable[[], bool]) -> None:
        self._executor = executor
        self._is_there = is_there
        self._left: dict[Future[Any], Future[Any]] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        threading.Thread(target=self._watch, name="dask-watch", daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As :meth:`concurrent.futures.Executor.submit`."""
        answer: Future[T] = Future()
        task = self._executor.submit(fn, *args, **kwargs)
        with self._lock:
            self._left[task] = answer
        task.add_done_callback(self._hand_over)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Stop watching and cancel the remaining tasks; the cluster keeps running."""
        self._end.set()
        with self._lock:
            tasks = list(self._left)
        for task in tasks:
            task.cancel()

    def _hand_over(self, task: Future[Any]) -> None:
        with self._lock:
            answer = self._left.pop(task, None)
        if answer is None or not answer.set_running_or_notify_cancel():
            return
        error = SchedulerLostError() if task.cancelled() else task.exception()
        if error is None:
            answer.set_result(task.result())
        else:
            answer.set_exception(error)

    def _watch(self) -> None:
        away_s = 0.0
        while not self._end.wait(POLL_S):
            away_s = 0.0 if self._is_there() else away_s + POLL_S
            if away_s >= SCHEDULER_LOST_S:
                self._give_up()

    def _give_up(self) -> None:
        with self._lock:
            answers = list(self._left.values())
            self._left.clear()
        for answer in answers:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(SchedulerLostError())
