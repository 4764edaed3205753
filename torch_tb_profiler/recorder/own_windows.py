"""The program's own profiler as a window of the run: ours gives way, its traces are copied."""

from __future__ import annotations

import os
from typing import Protocol

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import StepRecord
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.window_files import Window


class OwnProfiler:
    """What the program does with profilers.

    Attributes:
        was_used: Whether it has any.
        is_running: Whether one runs.
        has_exported: Whether a trace of it is in the folder of the run.
    """

    def __init__(self, session: Session, windows: GivesWay) -> None:
        self.is_running = False
        self.has_exported = False
        self._session = session
        self._windows = windows
        self.was_used = False
        self._window: Window | None = None
        self._started_ns = self._exported_ns = 0
        self._stopped_ns: int | None = None

    def own_made(self) -> None:
        """It has a profiler: ours is not needed."""
        self.was_used = True
        self._windows.give_way(for_good=True)

    def own_starts(self) -> None:
        """It is about to record, or to warm up."""
        self.was_used = self.is_running = True
        self._windows.give_way(for_good=False)

    def own_records(self) -> None:
        """It keeps what happens from now on."""
        self._session.evidence()
        self._window = Window(self._session)
        self._started_ns, self._stopped_ns = clock.perf_ns(), None

    def own_stops(self) -> None:
        """It is about to stop."""
        if self._window is not None and self._stopped_ns is None:
            self._window.end(None)
            self._stopped_ns = clock.perf_ns()

    def own_stopped(self) -> None:
        """It has recorded."""
        self.is_running = False
        self._exported_ns = clock.perf_ns()

    def saw(self, step: StepRecord) -> None:
        """A training step ended: it is in the window if half of it was, without what the program
        took to export in it."""
        stopped_ns = step.end_ns if self._stopped_ns is None else self._stopped_ns
        inside_ns = min(step.end_ns, stopped_ns) - max(step.start_ns, self._started_ns)
        away_ns = min(step.end_ns, self._exported_ns) - max(step.start_ns, stopped_ns)
        length_ns = step.end_ns - step.start_ns - max(away_ns, 0)
        if self._window is not None and inside_ns > 0 and 2 * inside_ns >= length_ns:
            self._window.saw(step.number)

    def own_exported(self, path: str) -> None:
        """It has written a trace: keep a copy."""
        window = self._window or Window(self._session)
        if window.is_settled:  # exported twice
            return
        window.end(None)
        try:
            window.copy(os.path.abspath(path))
            self.has_exported = True
        except OSError as error:
            window.lose(
                f"The trace of the program's own profiler was not copied: {error.strerror}."
            )
        self._exported_ns = clock.perf_ns()

    def tell(self) -> None:
        """Say what became of it, at the end."""
        if not self.was_used:
            return
        reason = (
            "The program has a profiler of its own: its traces were copied, and ours did not run."
            if self.has_exported
            else "The program has a profiler of its own, which has exported no trace."
        )
        self._session.miss("window", reason)


class GivesWay(Protocol):
    """Our profiler."""

    def give_way(self, for_good: bool) -> None:
        """Stop now, and do not start while the program's own runs, or not at all any more."""
