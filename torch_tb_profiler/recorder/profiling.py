"""The profiler of a session: it warms up, records a window, and its traces are written."""

from __future__ import annotations

from contextlib import suppress

from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.profiler_run import ProfilerRun, is_possible_now
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.window_files import Window

RANGES = {TRAIN: "ProfilerStep#", "evaluation": "Evaluation#"}


class Profiling:
    """What is recorded now, and what was.

    Attributes:
        window: The window that is being recorded; None: none is.
        has_written: Whether a window that was asked for has its trace.
        has_any: Whether any window has begun, a preview too.
        problem: Why the profiler does not start, if so.
    """

    def __init__(self, session: Session) -> None:
        """Nothing is recorded yet."""
        self.window: Window | None = None
        self.has_written = self.has_any = False
        self.problem: str | None = None
        self._session = session
        self._run: ProfilerRun | None = None
        self._writing: Window | None = None
        self._preview: Window | None = None

    @property
    def is_running(self) -> bool:
        """Whether the profiler runs: it warms up or records."""
        return self._run is not None

    @property
    def is_here(self) -> bool:
        """Whether it runs, and may be stopped in this thread."""
        return self._run is not None and self._run.is_here

    @property
    def has_preview_under_way(self) -> bool:
        """Whether what is recorded is a preview."""
        return self.window is not None and self.window.is_preview

    def prepare(self) -> None:
        """Let a profiler warm up, where one can run at this moment."""
        if self._run is not None or is_possible_now() is not None:
            return
        try:
            self._run = _run_for(self._session.options)
            self._run.prepare()
        except Exception as error:
            self._fail(error)

    def begin(self, is_preview: bool) -> None:
        """Record from now on, where that is possible."""
        self._session.evidence()
        self.prepare()
        if self._run is None:
            return
        try:
            self._run.record()
        except Exception as error:
            self._fail(error)
        else:
            self.window = Window(self._session, self._run, is_preview)
            self.has_any = True

    def begin_range(self, phase: str, number: int) -> None:
        """A step begins."""
        if self.window is not None and self._run is not None and self.is_here:
            self._run.begin_range(phase, f"{RANGES[phase]}{number}")

    def end_range(self, phase: str, given_up: int | None = None) -> None:
        """A step ends, or, if it was none, the one of the number ``given_up`` does."""
        if self.window is None or self._run is None or not self.is_here:
            return
        self._run.end_range(phase)
        if given_up is not None:
            self.window.given_up(f"{RANGES[phase]}{given_up}")

    def count(self, step: StepRecord) -> None:
        """A step is in the window."""
        if self.window is not None and step.phase == TRAIN:
            self.window.saw(step.number)
        elif self.window is not None:
            self.window.evaluations += 1

    def finish(self, reason: str | None) -> None:
        """End what is recorded, or warms up: a window is written, a preview kept until there is
        something better.

        Args:
            reason: Why it ends before it is complete; None if it is.
        """
        window, run = self.window, self._run
        self.window = self._run = None
        if run is None:
            return
        if window is None:
            with suppress(Exception):  # it was warming up; torch stops only what records
                run.record()
                run.stop()
            return
        window.end(None if window.is_preview else reason)
        self._writing = window
        try:
            run.stop()
        except Exception as error:
            window.lose(f"The profiler did not stop: {error}.")
        else:
            self._keep(window)
        self._writing = None

    def lose(self, reason: str) -> None:
        """What is recorded cannot be had."""
        window, self.window = self.window, None
        if window is not None:
            window.lose(reason)

    def settle(self) -> None:
        """Give a trace its name that was being written when a signal came."""
        if self._writing is not None and not self._writing.is_settled:
            with suppress(OSError):
                self._writing.settle()

    def write_preview(self) -> None:
        """Write the preview; nothing better was recorded."""
        preview, self._preview = self._preview, None
        if preview is not None and not self.has_written:
            preview.export()

    def _keep(self, window: Window) -> None:
        if window.is_preview:
            self._preview = window
            return
        window.export()
        if window.is_written:
            self.has_written = True
            self._preview = None

    def _fail(self, error: Exception) -> None:
        self._run = None
        self.problem = f"The profiler did not start: {error}"
        self._session.miss("window", self.problem)


def _run_for(options: Options) -> ProfilerRun:
    if not options.nsys:
        return ProfilerRun(options)
    from torch_tb_profiler.recorder.nsys import NsysRun  # noqa: PLC0415

    return NsysRun(options)
