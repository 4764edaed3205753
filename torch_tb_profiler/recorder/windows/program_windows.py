"""The program's own profiler as a window of the run: it has priority, and its traces are copied."""

from __future__ import annotations

import os
from typing import Protocol

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import StepRecord
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.windows.window import RecordingWindow


class ProgramProfiler:
    """Follows the profilers of the program.

    Attributes:
        was_used: Whether the program uses a profiler.
        is_running: Whether one is running.
        has_exported: Whether one of its traces is in the folder of the run.
    """

    def __init__(self, session: Session, windows: YieldingProfiler) -> None:
        self.is_running = False
        self.has_exported = False
        self._session = session
        self._windows = windows
        self.was_used = False
        self._window: RecordingWindow | None = None
        self._started_ns = self._exported_ns = 0
        self._stopped_ns: int | None = None

    def profiler_created(self) -> None:
        """The program has a profiler: the recorder's is not needed."""
        self.was_used = True
        self._windows.give_way(for_good=True)

    def profiler_starting(self) -> None:
        """Its profiler is about to record or to warm up."""
        self.was_used = self.is_running = True
        self._windows.give_way(for_good=False)

    def profiler_recording(self) -> None:
        """Its profiler starts to record."""
        self._session.note_activity()
        self._window = RecordingWindow(self._session)
        self._started_ns, self._stopped_ns = clock.perf_ns(), None

    def profiler_stopping(self) -> None:
        """Its profiler is about to stop."""
        if self._window is not None and self._stopped_ns is None:
            self._window.end(None)
            self._stopped_ns = clock.perf_ns()

    def profiler_stopped(self) -> None:
        """Its profiler has stopped."""
        self.is_running = False
        self._exported_ns = clock.perf_ns()

    def add_step(self, step: StepRecord) -> None:
        """Add a completed training step to the window if at least half of it, not counting the time
        of an export, was recorded."""
        stopped_ns = step.end_ns if self._stopped_ns is None else self._stopped_ns
        inside_ns = min(step.end_ns, stopped_ns) - max(step.start_ns, self._started_ns)
        away_ns = min(step.end_ns, self._exported_ns) - max(step.start_ns, stopped_ns)
        length_ns = step.end_ns - step.start_ns - max(away_ns, 0)
        if self._window is not None and inside_ns > 0 and 2 * inside_ns >= length_ns:
            self._window.add_step(step.number)

    def trace_exported(self, path: str) -> None:
        """Copy a trace that the program has exported."""
        window = self._window or RecordingWindow(self._session)
        if window.is_final:  # exported twice
            return
        window.end(None)
        try:
            window.copy(os.path.abspath(path))
            self.has_exported = True
        except OSError as error:
            window.mark_lost(
                f"The trace of the program's own profiler was not copied: {error.strerror}."
            )
        self._exported_ns = clock.perf_ns()

    def report(self) -> None:
        """Record at the end what happened to its traces."""
        if not self.was_used:
            return
        reason = (
            "The program runs its own profiler: its traces were copied, and the recorder's "
            "profiler did not run."
            if self.has_exported
            else "The program runs its own profiler, which has exported no trace."
        )
        self._session.report_missing("window", reason)


class YieldingProfiler(Protocol):
    """The recorder's profiler."""

    def give_way(self, for_good: bool) -> None:
        """Stop now; do not start while the program's profiler is running, or never if
        ``for_good``."""
