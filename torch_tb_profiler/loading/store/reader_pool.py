"""Threads that read traces: daemons that end when there is nothing to read for a while.

They hold no reference between two tasks, so that the submitter can be garbage collected; as daemons
they do not delay the end of the process, however much is left to read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

IDLE_S = 10.0
"""A thread without a task for so long ends; starting another takes a fraction of a millisecond."""

Task = Callable[[], object]


class ReaderPool:
    """As many threads as there are tasks: the submitter limits them."""

    def __init__(self, name: str) -> None:
        """Start nothing yet; ``name`` is the name of the threads."""
        self._name = name
        self._changed = threading.Condition()
        self._tasks: deque[Task] = deque()
        self._idle = 0
        self._closings = 0

    def submit(self, task: Task) -> None:
        """Run ``task``, which raises nothing, in an idle thread or a new one."""
        with self._changed:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._changed.notify()
                return
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def close(self) -> None:
        """Let idle threads end now, and the others after their task."""
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
