"""Parsing ahead: the traces of the next tasks, while views of the first ones are computed.

Each task is looked at once: a folder may hold many thousand traces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from torch_tb_profiler.cli.tasks import Task
from torch_tb_profiler.requests.errors import LoadingError

AHEAD_BYTES = 256 << 20
"""Total size of small files that are parsed in advance; they stay in memory."""

AHEAD_FILES = 64
"""Files that are parsed in advance: more cost time in the queue, and save none."""


class Prefetcher:
    """Requests the traces of tasks that are performed in order: as many as run in parallel, and
    further small ones, so that no core is idle while views are computed."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        """Request nothing yet."""
        self._tasks = tasks
        self._next = 0
        self._ahead: deque[tuple[int, str, int]] = deque()
        """Of each requested trace its last task, its URL and its size."""
        self._ahead_bytes = 0

    def advance(self, number: int) -> None:
        """Request more traces before task ``number`` is performed."""
        self._next = max(self._next, number)
        while self._ahead and self._ahead[0][0] < number:
            self._ahead_bytes -= self._ahead.popleft()[2]
        while self._next < len(self._tasks) and self._request(self._tasks[self._next]):
            self._next += 1

    def _request(self, task: Task) -> bool:
        """Request the trace of a task; False if that has to wait."""
        if task.catalog is None or task.request is None or task.spec is None:
            return True
        if task.spec.scope == "run":
            return False  # the view requests all its workers itself
        about = task.request.subject
        with suppress(LoadingError):
            file = task.catalog.file(about.run, about.worker, about.span)
            url, size_bytes = file.location.url, file.state.size_bytes
            if self._ahead and self._ahead[-1][1] == url:
                self._ahead[-1] = (self._next, url, size_bytes)
                return True
            if self._is_enough(task.catalog.store.files_at_once):
                return False
            task.catalog.store.request(file)
            self._ahead.append((self._next, url, size_bytes))
            self._ahead_bytes += size_bytes
        return True

    def _is_enough(self, files_at_once: int) -> bool:
        if len(self._ahead) <= files_at_once:
            return False
        return self._ahead_bytes > AHEAD_BYTES or len(self._ahead) >= AHEAD_FILES
