"""The profiler of a session: warm-up, recording of windows, and writing of their traces."""

from __future__ import annotations

from contextlib import suppress

from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.windows.profiler_run import ProfilerRun, start_obstacle
from torch_tb_profiler.recorder.windows.window import RecordingWindow

RANGES = {TRAIN: "ProfilerStep#", "evaluation": "Evaluation#"}


class WindowProfiler:
    """Runs the profiler and tracks its windows.

    Attributes:
        window: The window being recorded; None if there is none.
        written: Number of requested windows that have their traces.
        has_recorded: Whether any window has started, including a preview.
        problem: Why the profiler does not start; None if it does.
    """

    def __init__(self, session: Session) -> None:
        """Create without starting the profiler."""
        self.window: RecordingWindow | None = None
        self.has_recorded = False
        self.written = 0
        self.problem: str | None = None
        self._session = session
        self._run: ProfilerRun | None = None
        self._writing: RecordingWindow | None = None
        self._preview: RecordingWindow | None = None

    @property
    def is_running(self) -> bool:
        """Whether the profiler is running: it warms up or records."""
        return self._run is not None

    @property
    def can_stop_here(self) -> bool:
        """Whether it is running and may be stopped in this thread."""
        return self._run is not None and self._run.can_stop_here

    @property
    def has_preview_under_way(self) -> bool:
        """Whether a preview is being recorded."""
        return self.window is not None and self.window.is_preview

    def prepare(self) -> None:
        """Start to warm up, if a profiler can start at this moment."""
        if self._run is not None or start_obstacle() is not None:
            return
        try:
            self._run = _run_for(self._session.options)
            self._run.prepare()
        except Exception as error:
            self._report_failure(error)

    def begin(self, is_preview: bool) -> None:
        """Start to record, if possible."""
        self._session.note_activity()
        self.prepare()
        if self._run is None:
            return
        try:
            self._run.record()
        except Exception as error:
            self._report_failure(error)
        else:
            self.window = RecordingWindow(self._session, self._run, is_preview)
            self.has_recorded = True

    def begin_range(self, phase: str, number: int) -> None:
        """Start the range of a step."""
        if self.window is not None and self._run is not None and self.can_stop_here:
            self._run.begin_range(phase, f"{RANGES[phase]}{number}")

    def end_range(self, phase: str, discarded: int | None = None) -> None:
        """End the range of a step; ``discarded``: its number if it turned out not to be a step."""
        if self.window is None or self._run is None or not self.can_stop_here:
            return
        self._run.end_range(phase)
        if discarded is not None:
            self.window.discard_range(f"{RANGES[phase]}{discarded}")

    def count(self, step: StepRecord) -> None:
        """Count a step of the window."""
        if self.window is not None and step.phase == TRAIN:
            self.window.add_step(step.number)
        elif self.window is not None:
            self.window.evaluations += 1

    def finish(self, reason: str | None) -> None:
        """Stop recording or warming up. A window is written; a preview is kept in memory until a
        window replaces it.

        Args:
            reason: Why it ends early; None if it is complete.
        """
        window, run = self.window, self._run
        self.window = self._run = None
        if run is None:
            return
        if window is None:
            with suppress(Exception):  # torch can only stop a profiler that records
                run.record()
                run.stop()
            return
        window.end(None if window.is_preview else reason)
        self._writing = window
        try:
            run.stop()
        except Exception as error:
            window.mark_lost(f"The profiler did not stop: {error}.")
        else:
            self._export(window)
        self._writing = None

    def mark_lost(self, reason: str) -> None:
        """Report that the current window is lost."""
        window, self.window = self.window, None
        if window is not None:
            window.mark_lost(reason)

    def finalize(self) -> None:
        """Finalize a trace that was being written when a signal arrived."""
        if self._writing is not None and not self._writing.is_final:
            with suppress(OSError):
                self._writing.finalize()

    def write_preview(self) -> bool:
        """Write the preview if no window was recorded; whether there is one then."""
        preview, self._preview = self._preview, None
        if preview is None or self.written:
            return False
        preview.export()
        return preview.is_written

    def _export(self, window: RecordingWindow) -> None:
        if window.is_preview:
            self._preview = window
            return
        window.export()
        if window.is_written:
            self.written += 1
            self._preview = None

    def _report_failure(self, error: Exception) -> None:
        self._run = None
        self.problem = f"The profiler did not start: {error}"
        self._session.report_missing("window", self.problem)


def _run_for(options: Options) -> ProfilerRun:
    if not options.nsys:
        return ProfilerRun(options)
    from torch_tb_profiler.recorder.windows.nsys import NsysRun  # noqa: PLC0415

    return NsysRun(options)
