"""Verdicts on the windows of a recording that goes on, each from a process of its own. Imported
between the steps of a training: without polars, which would hold one up."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from contextlib import suppress

from torch_tb_profiler.loading.processes.executors import LocalExecutor
from torch_tb_profiler.recorder.in_program import Recording

TIME_LIMIT_S = 600.0
"""More than at the end of a training: the process is less urgent than those of the training, and
nothing waits for it."""

NICENESS = 19
"""The lowest priority: on a machine without a free core the steps come first."""


class WindowVerdicts:
    """Follows the windows of a recording. Of those that are written while one is analyzed the last
    one is next.

    Attributes:
        recording: The recording.
    """

    def __init__(self, recording: Recording) -> None:
        """Start nothing."""
        self.recording = recording
        self._windows = 0
        self._executor: LocalExecutor | None = None
        self._future: Future[dict[str, str] | str] | None = None
        self._until_s = 0.0

    def poll(self) -> dict[str, str] | str | None:
        """Start to analyze a window that was written; cheap enough for the end of every step.

        Returns:
            The texts of a verdict that is ready, or why there is none, once; else None.
        """
        if self._future is None:
            windows, worker = self.recording.written_windows, self.recording.worker
            if windows > self._windows and worker is not None:
                self._windows = windows
                self._executor = LocalExecutor(1)
                self._future = self._executor.submit(_texts, self.recording.folder, worker)
                self._until_s = time.monotonic() + TIME_LIMIT_S
            return None
        future = self._future
        if not future.done():
            if time.monotonic() < self._until_s:
                return None
            self.end()
            return f"The analysis took more than {TIME_LIMIT_S:g} s."
        self.end()
        error = future.exception()
        return future.result() if error is None else f"The process of the analysis ended: {error}."

    def end(self) -> None:
        """End the process of the analysis."""
        executor, self._executor, self._future = self._executor, None, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _texts(folder: str, worker: str) -> dict[str, str] | str:
    """The texts of the verdict, or why there is none; in the process of the analysis."""
    with suppress(AttributeError, OSError):  # not on Windows
        os.nice(NICENESS)  # before the imports, which take as long as a small recording
    from torch_tb_profiler.callback.summary import window_verdict  # noqa: PLC0415 - polars
    from torch_tb_profiler.requests.errors import LoadingError  # noqa: PLC0415 - likewise

    try:
        return window_verdict(folder, worker).texts()
    except LoadingError as error:
        return error.problem.message
