"""The main loop of a worker process of :mod:`torch_tb_profiler.loading.processes.executors`.

Tasks arrive as messages with a pickle each on stdin, answers are written as pickles to what was
stdout; output of tasks goes to stderr. The process ends when stdin does, at once and whatever it is
doing: no worker outlives the process that started it.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from torch_tb_profiler.loading.processes.address_space import limit_own_threads
from torch_tb_profiler.loading.processes.memory_release import retain_buffers
from torch_tb_profiler.loading.processes.pipes import read_message
from torch_tb_profiler.loading.processes.resources import prefer_oom_kill

Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""An importable function, and its arguments."""

Reply = tuple[bool, Any]
"""(True, the result) or (False, the exception)."""


def main() -> None:
    """Run tasks until stdin ends."""
    retain_buffers()
    limit_own_threads(1)
    prefer_oom_kill()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    replies = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        _send(replies, _perform_next(tasks))


def _receive(stream: IO[bytes], tasks: queue.SimpleQueue[bytes]) -> None:
    """Read ahead, so that the next task is here when one is done, and the end is seen at once.

    A task is unpickled by the thread that runs it: unpickling imports modules, and two threads
    importing modules of one package may wait for each other.
    """
    try:
        while True:
            tasks.put(read_message(stream))
    except (EOFError, OSError):
        os._exit(0)


def _perform_next(tasks: queue.SimpleQueue[bytes]) -> Reply:
    try:
        task: Task = pickle.loads(tasks.get())
        function, arguments = task
        return True, function(*arguments)
    except Exception as error:  # the task's own, or its function cannot be imported here
        return False, error


def _send(stream: IO[bytes], reply: Reply) -> None:
    try:
        data = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        data = pickle.dumps((False, RuntimeError(f"The result cannot be returned: {cause}")))
    try:
        stream.write(data)
        stream.flush()
    except OSError:
        os._exit(0)
