"""Tracks the current step, of training or of an evaluation, and reports its end."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVALUATION, TRAIN, StepRecord
from torch_tb_profiler.recorder.session import Session

OPTIMIZER, LOADER, MODULE = "optimizer", "loader", "module"

OWN_NS = 1_000_000
"""A notification that takes longer than this started, stopped or exported the profiler; the step
starts after it."""


class StepTracker:
    """The current step of a session. Times are of
    :data:`~torch_tb_profiler.recorder.clock.perf_ns`."""

    def __init__(self, session: Session) -> None:
        """Create without a current step."""
        self._session = session
        self._windows: Any = session.parts.get("window")
        self._train_start: int | None = None
        self._evaluation_start: int | None = None
        self._evaluation_by = ""
        self._is_call = False
        self._train_count = 0
        self._evaluation_count = 0
        self._longest_training_ns = self._longest_evaluation_ns = 0
        self._has_worked = False
        self._worked_ns: int | None = None
        self._free_ns: int | None = None

    @property
    def is_evaluating(self) -> bool:
        """Whether the current step belongs to an evaluation."""
        return self._evaluation_start is not None

    def has_begun_since(self, time_ns: int) -> bool:
        """Whether the current training step started at ``time_ns`` or later."""
        return self._train_start is not None and self._train_start >= time_ns

    def mark_worked(self, time_ns: int | None = None) -> None:
        """The current step got a batch, or a call of its module ended at ``time_ns``."""
        self._has_worked = True
        self._worked_ns = time_ns

    def train(self, time_ns: int) -> None:
        """Continue training: end an evaluation, and start a step unless there is one."""
        if self.is_evaluating:
            self.end_evaluation(time_ns)
        if self._train_start is None:
            self._begin_training(time_ns)

    def evaluate(self, time_ns: int, by: str, is_call: bool = False) -> None:
        """Start a step of an evaluation, at a batch or at a call of the module. The previous step
        ends; a training step without work is discarded."""
        if self._train_start is not None:
            if self._has_worked:
                self._close_training(time_ns, by)
            else:
                self.discard(time_ns)
        elif self._evaluation_start is not None:
            self._close_evaluation(time_ns, time_ns)
        self._evaluation_start, self._evaluation_by = time_ns, by
        self._is_call = is_call
        self._has_worked, self._worked_ns = False, None
        self._session.phase, self._session.step = EVALUATION, self._evaluation_count
        own_ns = self._notify_windows("step_began", EVALUATION, self._evaluation_count)
        if own_ns > OWN_NS:
            self._evaluation_start = time_ns + own_ns

    def end_evaluation(self, time_ns: int) -> None:
        """End the evaluation. If its last step was a call of a module, it ended with that call."""
        called_ns = self._worked_ns if self._is_call else None
        self._close_evaluation(time_ns, time_ns if called_ns is None else called_ns)
        self._session.phase, self._session.step = TRAIN, self._train_count

    def reclassify_as_evaluation(self, by: str) -> None:
        """The current training step turns out to be a step of an evaluation."""
        start_ns = self._train_start
        if start_ns is not None:
            self.discard(start_ns)
            has_worked = self._has_worked
            self.evaluate(start_ns, by)
            self._has_worked = has_worked

    def reclassify_as_training(self, time_ns: int) -> None:
        """An optimizer steps: the current step is a training step; start one if there is none."""
        if self._evaluation_start is not None:
            start_ns, self._evaluation_start = self._evaluation_start, None
            self._notify_windows("step_discarded", EVALUATION, self._evaluation_count)
            self._begin_training(start_ns)
        elif self._train_start is None:
            self._begin_training(time_ns if self._free_ns is None else self._free_ns)

    def end(self, time_ns: int, by: str, is_late: bool = False) -> None:
        """End the training step and start the next.

        Args:
            time_ns: Boundary between both.
            by: How the boundary was detected.
            is_late: The next step has already ended too, and the windows are not notified of it.
        """
        next_ns = time_ns
        if self._train_start is not None:
            before_ns = clock.perf_ns()
            self._close_training(time_ns, by)
            own_ns = clock.perf_ns() - before_ns
            next_ns = time_ns + own_ns if own_ns > OWN_NS else time_ns
            if self._windows is not None:
                self._windows.end_program_if_done()
        self._begin_training(next_ns, is_late)

    def discard(self, time_ns: int) -> None:
        """Discard the current training step: there was no batch, or an evaluation started."""
        if self._train_start is not None:
            self._train_start, self._free_ns = None, time_ns
            self._notify_windows("step_discarded", TRAIN, self._train_count)

    def stop(self, by: str, is_whole: bool) -> None:
        """The program ends: report the last step if it is complete. A training step without work is
        discarded: it began when the optimizer had stepped for the last time.

        A module call that returned is a complete step. The end of work on the last batch is not
        observable: it counts as a step if the program ended normally and no later than the longest
        step so far.

        Args:
            by: How steps are detected.
            is_whole: Whether the program ended normally.
        """
        if not self._has_worked:
            self.discard(clock.perf_ns())
            return
        if self._evaluation_start is not None:
            end_ns = self._last_end(self._evaluation_start, self._longest_evaluation_ns, is_whole)
            if end_ns is not None:
                self._close_evaluation(end_ns, end_ns)
        elif self._train_start is not None and by != OPTIMIZER:
            end_ns = self._last_end(self._train_start, self._longest_training_ns, is_whole)
            if end_ns is not None:
                self._close_training(end_ns, by)

    def _last_end(self, start_ns: int, longest_ns: int, is_whole: bool) -> int | None:
        if self._worked_ns is not None:
            return self._worked_ns
        now_ns = clock.perf_ns()
        return now_ns if is_whole and now_ns - start_ns <= longest_ns else None

    def _begin_training(self, time_ns: int, is_late: bool = False) -> None:
        self._train_start, self._free_ns = time_ns, None
        self._has_worked, self._worked_ns = False, None
        self._session.phase, self._session.step = TRAIN, self._train_count
        if not is_late:
            own_ns = self._notify_windows("step_began", TRAIN, self._train_count)
            if own_ns > OWN_NS:
                self._train_start = time_ns + own_ns

    def _close_evaluation(self, time_ns: int, end_ns: int) -> None:
        start_ns, self._evaluation_start = self._evaluation_start, None
        if start_ns is None:
            return
        self._free_ns = time_ns
        if not self._has_worked:
            self._notify_windows("step_discarded", EVALUATION, self._evaluation_count)
            return
        number, self._evaluation_count = self._evaluation_count, self._evaluation_count + 1
        by = self._evaluation_by
        self._longest_evaluation_ns = max(self._longest_evaluation_ns, end_ns - start_ns)
        self._session.step_ended(StepRecord(number, EVALUATION, by, start_ns, end_ns))

    def _close_training(self, time_ns: int, by: str) -> None:
        start_ns, self._train_start = self._train_start, None
        if start_ns is None:
            return
        number, self._train_count = self._train_count, self._train_count + 1
        self._longest_training_ns = max(self._longest_training_ns, time_ns - start_ns)
        self._session.step_ended(StepRecord(number, TRAIN, by, start_ns, time_ns))

    def _notify_windows(self, event: str, phase: str, number: int) -> int:
        """Notify the windows, which may start or stop the profiler; returns the time that took."""
        if self._windows is None:
            return 0
        before_ns = clock.perf_ns()
        try:
            getattr(self._windows, event)(phase, number)
        except Exception as error:
            self._windows = None
            self._session.report_missing(
                "window", f"The recorder failed: {type(error).__name__}: {error}"
            )
        return clock.perf_ns() - before_ns
