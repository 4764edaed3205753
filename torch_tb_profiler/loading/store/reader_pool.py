"""Threads that read traces: daemons, that end when nothing has to be read for a while.

They hold nothing between two tasks, so that whoever gave them tasks can be dropped meanwhile; and
as daemons they hold nobody up who wants to end, however much is left to read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

IDLE_S = 10.0
"""A thread without a task for so long ends; starting another takes a fraction of a millisecond."""

Task = Callable[[], object]


class ReaderPool:
    """As many threads as there are tasks: whoever submits bounds them."""

    def __init__(self, name: str) -> None:
        """Start nothing yet; ``name`` is that of the threads."""
        self._name = name
        self._changed = threading.Condition()
        self._tasks: deque[Task] = deque()
        self._idle = 0
        self._closings = 0

    def submit(self, task: Task) -> None:
        """Perform ``task``, which raises nothing, in a thread that is idle or a new one."""
        with self._changed:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._changed.notify()
                return
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def close(self) -> None:
        """Let the idle threads end now, and the others when they are done."""
        with self._changed:
            self._closings += 1
            self._changed.notify_all()

    def _run(self) -> None:
        closings = self._closings
        while (task := self._next(closings)) is not None:
            task()
            del task  # it may hold a trace

    def _next(self, closings: int) -> Task | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._tasks or self._closings > closings, IDLE_S)
            self._idle -= 1
            return self._tasks.popleft() if self._tasks else None
