"""Worker processes with the ``concurrent.futures.Executor`` interface.

The standard process pool does not fit: one killed worker breaks it with all its tasks; ``spawn``
imports the host's ``__main__`` again (TensorBoard's, or a user's script without a guard); and the
host cannot end before it. Here each worker is a plain child process that shares only two pipes with
its parent. Any other executor (of ``dask.distributed``, of ``mpi4py.futures``) can replace this
one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, Literal, ParamSpec, TypeVar

from torch_tb_profiler.loading.processes.address_space import library_settings
from torch_tb_profiler.loading.processes.pipes import enlarge_pipe, write_message
from torch_tb_profiler.loading.processes.worker_main import Task
from torch_tb_profiler.safe_path import PACKAGE_FOLDER, safe_path

IDLE_S = 60.0
"""A worker without a task for so long ends; the next task starts another."""

_START = """
import sys
sys.path[:] = filter(None, sys.path)
import pickle
sys.stdin.buffer.read(8)  # the size of the message
folder, path = pickle.load(sys.stdin.buffer)
sys.path.insert(0, folder)
import torch_tb_profiler
sys.path[:] = path
from torch_tb_profiler.loading.processes.worker_main import main
main()
"""
"""The program of a worker. Nothing is imported while the current folder is on the path; the package
is that of the parent, whatever else is installed."""

_ONE_THREAD = ("POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

P = ParamSpec("P")
T = TypeVar("T")

Step = tuple[Future[Any], Task] | Literal["rest", "end"]
"""A task; or "rest": end the process until the next task; or "end": end for good."""


class WorkerDiedError(Exception):
    """A worker process ended during a task."""


class _Worker:
    """One worker process. Tasks are answered in the order they were sent."""

    def __init__(self, on_answer: Callable[[], object]) -> None:
        with _interrupts_blocked():
            self._process = subprocess.Popen(
                [sys.executable, *_options(), "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**dict.fromkeys(_ONE_THREAD, "1"), **library_settings(1), **os.environ},
            )
        self._on_answer = on_answer
        self._waiting: deque[Future[Any]] = deque()
        self._lock = threading.Lock()
        self.is_running = True
        for pipe in (self._process.stdin, self._process.stdout):
            enlarge_pipe(pipe)
        self._write(pickle.dumps((PACKAGE_FOLDER, safe_path())))
        threading.Thread(target=self._receive, name="worker-answers", daemon=True).start()

    def send(self, future: Future[Any], task: Task) -> bool:
        """Send a task; False if the process is gone and the task was not taken."""
        data = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            if not self.is_running:
                return False
            self._waiting.append(future)
        self._write(data)
        return True

    def end(self) -> None:
        """Close its input, which ends it at once, whatever it is doing."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill it where its input cannot be closed because a writer waits in it."""
        self._process.kill()

    def _write(self, message: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):  # the receiving thread notices the end too
            write_message(stream, message)

    def _receive(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(Exception):  # end of stream or a malformed answer
            while True:
                succeeded, value = pickle.load(stream)
                with self._lock:
                    future = self._waiting.popleft()
                self._on_answer()
                if succeeded:
                    future.set_result(value)
                else:
                    future.set_exception(value)
        with self._lock:
            self.is_running = False
            lost = list(self._waiting)
        stream.close()
        self.end()
        self._process.kill()
        reason = _reason(self._process.wait())
        for future in lost:
            self._on_answer()
            future.set_exception(WorkerDiedError(reason))


class _TaskQueue:
    """The tasks that no worker has started, shared by all feeders; ``changed`` guards it.

    Attributes:
        tasks: Each with the epoch in which it was submitted.
        epoch: How often the workers were retired: one of an older epoch takes no newer task, and
            ends when it has answered the others.
        is_closed: No more tasks are accepted.
        is_killed: Running workers are killed.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.tasks: deque[tuple[int, Future[Any], Task]] = deque()
        self.epoch = 0
        self.is_closed = False
        self.is_killed = False


class LocalExecutor(Executor):
    """Up to ``workers`` child processes on this machine, started when they are needed.

    Functions must be importable by name, arguments and results picklable. A process that dies fails
    its tasks with :class:`WorkerDiedError`; the next task starts a new one.
    """

    def __init__(self, workers: int, *, ahead: int = 1) -> None:
        """Start nothing yet.

        Args:
            workers: Number of processes.
            ahead: Tasks sent to a process at once; 2 lets the next one travel while one runs.
        """
        self.workers = workers
        self._ahead = ahead
        self._work = _TaskQueue()
        self._feeders: list[_Feeder] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args)`` in a worker; keyword arguments are not supported."""
        if kwargs:
            raise TypeError("keyword arguments cannot be handed to a worker")
        future: Future[T] = Future()
        work = self._work
        with work.changed:
            if work.is_closed:
                raise RuntimeError("the executor was shut down")
            work.tasks.append((work.epoch, future, (fn, args)))
            if len(self._feeders) < self.workers:
                self._feeders.append(_Feeder(work, self._ahead))
            work.changed.notify_all()
        return future

    def retire_workers(self) -> None:
        """Let the workers end after their current tasks; later tasks start new ones."""
        with self._work.changed:
            self._work.epoch += 1
            self._work.changed.notify_all()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: with ``wait`` after all tasks, else at once."""
        work = self._work
        with work.changed:
            work.is_closed = True
            work.is_killed = work.is_killed or not wait
            feeders, self._feeders = self._feeders, []
            if cancel_futures or not wait:
                for _, future, _ in work.tasks:
                    future.cancel()
                work.tasks.clear()
            work.changed.notify_all()
        for feeder in feeders:
            feeder.finish()


class _Feeder:
    """Sends tasks to one worker, and replaces it when it dies."""

    def __init__(self, work: _TaskQueue, ahead: int) -> None:
        self._work = work
        self._ahead = ahead
        self._epoch = work.epoch
        self._in_flight = 0
        self._idle_s = 0.0
        self._worker: _Worker | None = None
        self._thread = threading.Thread(target=self._run, name="worker-feeder", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for the end of the worker, which is killed if the executor was shut down at once."""
        with self._work.changed:
            self._kill_if_requested()
        self._thread.join()

    def _run(self) -> None:
        while (step := self._next()) != "end":
            if step == "rest":
                self._end_worker()
                continue
            future, task = step
            if future.set_running_or_notify_cancel():
                self._send_task(future, task)
            else:
                self._answered()
        self._end_worker()

    def _next(self) -> Step:
        """Wait for the next step. It stays valid until it is done: only this feeder sends tasks to
        the worker."""
        work = self._work
        with work.changed:
            while True:
                if work.tasks and work.tasks[0][0] <= self._epoch:
                    if self._in_flight < self._ahead:
                        self._in_flight += 1
                        return work.tasks.popleft()[1:]
                elif not self._in_flight:
                    if work.epoch > self._epoch:
                        self._epoch = work.epoch
                        return "rest"
                    if work.is_closed:
                        return "end"
                    remaining_s = self._idle_s - time.monotonic()
                    if self._worker is not None and remaining_s <= 0:
                        return "rest"
                    work.changed.wait(None if self._worker is None else remaining_s)
                    continue
                work.changed.wait()

    def _answered(self) -> None:
        with self._work.changed:
            self._in_flight -= 1
            self._idle_s = time.monotonic() + IDLE_S
            self._work.changed.notify_all()

    def _send_task(self, future: Future[Any], task: Task) -> None:
        try:
            while self._worker is None or not self._worker.send(future, task):
                if self._work.is_killed:
                    raise WorkerDiedError("it was ended")
                worker = _Worker(self._answered)
                with self._work.changed:
                    self._worker = worker
                    self._kill_if_requested()
        except Exception as error:  # it cannot be started, or the task cannot be pickled
            self._answered()
            future.set_exception(error)

    def _kill_if_requested(self) -> None:
        if self._work.is_killed and self._worker is not None:
            self._worker.kill()

    def _end_worker(self) -> None:
        """Let the worker end: all its tasks are answered."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def _options() -> list[str]:
    """Interpreter options with which a worker resolves modules and file names as this process does;
    environment variables are inherited without them."""
    options = [f"-Xutf8={sys.flags.utf8_mode}"]
    if sys.version_info >= (3, 11):
        options.append("-P")  # from 3.13 on ``-c`` imports a module before it runs its text
    if sys.flags.ignore_environment:
        options.append("-E")
    if sys.flags.no_user_site:
        options.append("-s")
    return options


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach, not even before it ignores it itself: it would
    print a traceback. The starting thread is not one that Python interrupts."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reason(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"it was killed by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"
