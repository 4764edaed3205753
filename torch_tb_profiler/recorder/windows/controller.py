"""Decides when the profiler records: by steps, by time, by trigger or by the program itself.

Until the first window a preview is recorded, so that a program of three steps leaves a trace too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.recorder import clock, main_thread
from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.torch_api.expectations import allows
from torch_tb_profiler.recorder.windows import program_profiler, program_range
from torch_tb_profiler.recorder.windows.profiling import WindowProfiler
from torch_tb_profiler.recorder.windows.program_windows import ProgramProfiler
from torch_tb_profiler.recorder.windows.schedule import (
    Schedule,
    WindowSteps,
    schedule_for_trigger,
    schedule_from_options,
)
from torch_tb_profiler.recorder.windows.trigger import Trigger

S = 1_000_000_000
PREVIEW_NS = 30 * S
PATIENCE_NS = 1 * S
"""How long a due start or end waits for an event of the program."""

FIRST_SIGN_NS = 30 * S
"""Likewise for the first event, if no start time was requested."""

TRIGGERED_NS = 10 * S
"""Duration of a triggered window in a program without steps."""

MAX_EVALUATIONS = 20
"""Evaluation batches after which a window ends within an evaluation."""


class Windows:
    """The part of a session that runs the profiler."""

    def __init__(self, session: Session) -> None:
        """Create without recording."""
        options = session.options
        self._session = session
        self._options = options
        self._profiling = WindowProfiler(session)
        self._program_profiler = ProgramProfiler(session, self)
        self._schedule: Schedule | None = None
        self._index = 0
        self._span: WindowSteps | None = None
        self._start_at: int | None = None
        self._stop_at: int | None = None
        self._trigger: Trigger | None = None
        self._fired_ns: list[int] = []
        self._is_off = options.timer_only
        self._is_done = False
        self._is_busy = False
        self._may_preview = not options.nsys

    @property
    def is_profiling(self) -> bool:
        """Whether a profiler is currently slowing the program: recording, warm-up or preview."""
        return self._profiling.is_running or self._program_profiler.is_running

    @property
    def written(self) -> int:
        """Number of windows of the recorder's own profiler that have their traces."""
        return self._profiling.written

    def start(self) -> None:
        """Wait for the first window; torch is imported."""
        options = self._options
        if options.timer_only:
            self._session.report_missing(
                "operators", "Recorded with --timer-only: no profiler ran."
            )
        elif allows("profiler", self._session):
            program_profiler.subscribe(self._program_profiler)
        else:
            self._is_off = True
            return
        if options.program_range:
            self._may_preview = False
            if allows("program range", self._session):
                program_range.subscribe(self)
        elif options.trigger is not None:
            self._may_preview = False
            self._trigger = Trigger(options.trigger, self._on_trigger)
            self._trigger.start()
        elif options.delay_s is not None or options.duration_s is not None:
            self._may_preview = False
            self._start_at = clock.perf_ns() + round((options.delay_s or 0) * S)
        else:
            self._schedule = schedule_from_options(options)

    def stop(self, reason: str) -> None:
        """End and write the current window."""
        if self._trigger is not None:
            self._trigger.stop()
        program_profiler.unsubscribe(self._program_profiler)
        program_range.unsubscribe(self)
        self._profiling.finalize()
        if self._profiling.can_stop_here:
            self._profiling.finish(f"The program ended in it ({reason}).")
        else:
            self._profiling.mark_lost("The program ended in a thread other than the recorded one.")
        has_preview = not self._program_profiler.has_exported and self._profiling.write_preview()
        if has_preview and self._options.steps is not None:
            first, _ = self._options.steps
            why = f"The program ended before step {first}: the trace is of its first steps."
            self._session.report_missing("window", why)
        self._program_profiler.report()
        if (
            not self._profiling.has_recorded
            and not self._program_profiler.was_used
            and self._may_start()
        ):
            self._session.report_missing(
                "window", "The program ended before any step was to be recorded."
            )

    def flush(self) -> None:
        """Check the trigger and the clock; called in the ticker thread."""
        if self._trigger is not None:
            self._trigger.poll()
            if self._trigger.problem is not None:
                self._session.report_missing("window", self._trigger.problem)
        if self._is_overdue() and not main_thread.call_soon(self._on_tick):
            self._session.report_missing(
                "window", "This interpreter cannot start a window at a given time."
            )

    # Events of the session.

    def batch_requested(self, _loader: int, _time_ns: int) -> None:
        """Check the clock if a start or end time is pending."""
        if self._start_at is not None or self._stop_at is not None or self._fired_ns:
            self._on_tick()

    def step_ended(self, step: StepRecord) -> None:
        """End the range of a step, and the window if it is complete."""
        if step.phase == TRAIN and self._program_profiler.was_used:
            self._program_profiler.add_step(step)
        if self._is_idle():
            return
        with self._exclusive() as is_exclusive:
            if not is_exclusive:
                return
            is_last = self._span is not None and step.number >= self._span.last
            if self._profiling.can_stop_here:
                self._profiling.end_range(step.phase)
                self._profiling.count(step)
                self._end_if_complete(is_last and step.phase == TRAIN)
            elif self._is_off and is_last:
                self._is_done = True

    def step_began(self, phase: str, number: int) -> None:
        """Start the range of a step, and a window if it is due."""
        if self._is_idle():
            return
        with self._exclusive() as is_exclusive:
            if not is_exclusive:
                return
            if phase == TRAIN:
                self._plan(number)
                self._advance(number)
            self._check_clock(has_sign=True)
            if self._wants_preview():
                self._begin(PREVIEW_NS, is_preview=True)
            self._profiling.begin_range(phase, number)

    def step_discarded(self, phase: str, number: int) -> None:
        """A started step turned out not to be one."""
        with self._exclusive() as is_exclusive:
            if is_exclusive:
                self._profiling.end_range(phase, discarded=number)

    def range_began(self) -> None:
        """The program starts to record a range of its own."""
        with self._exclusive() as is_exclusive:
            if is_exclusive and not self._profiling.is_running and self._may_start():
                self._begin(None)

    def range_ended(self) -> None:
        """The program has recorded a range of its own."""
        with self._exclusive() as is_exclusive:
            if is_exclusive and self._profiling.can_stop_here:
                self._finish(None)

    def end_program_if_done(self) -> None:
        """End the program if requested and all windows are recorded.

        Raises:
            SystemExit: with code 0.
        """
        if not (self._options.stop_after and self._is_done):
            return
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(0)
        reason = "The loop does not run in the main thread: --stop-after could not end the program."
        self._session.report_missing("window", reason)

    def give_way(self, for_good: bool) -> None:
        """See :meth:`YieldingProfiler.give_way`."""
        with self._exclusive() as is_exclusive:
            if is_exclusive and self._profiling.can_stop_here:
                self._finish("The program's own profiler started.")
            self._is_off = self._is_off or for_good

    # Steps.

    def _plan(self, number: int) -> None:
        """Determine the steps to record next."""
        if self._schedule is None and self._options.duration_s is None:
            if self._fired_ns:
                self._fired_ns.pop(0)
                self._schedule, self._index = schedule_for_trigger(self._options, number), 0
            elif self._is_start_due(clock.perf_ns()):
                self._start_at = None
                self._schedule = schedule_from_options(self._options, number)
        is_past = self._span is None or (number > self._span.first and self._may_start())
        is_free = self._profiling.window is None or self._profiling.has_preview_under_way
        if self._schedule is not None and is_free and is_past:
            self._span = self._schedule.span_at(self._index, number)

    def _advance(self, number: int) -> None:
        """Start to warm up or to record if it is due."""
        span, profiling = self._span, self._profiling
        if span is None or not span.warm_from <= number <= span.last or not self._may_start():
            return
        if profiling.has_preview_under_way and profiling.can_stop_here:
            self._finish(None)
        if profiling.window is not None:
            return
        if number < span.first:
            profiling.prepare()
        elif profiling.can_stop_here or not profiling.is_running:
            self._begin(None)

    def _end_if_complete(self, is_last: bool) -> None:
        window = self._profiling.window
        if window is None or window.is_preview:
            return
        if is_last:
            self._finish(None)
        elif window.evaluations >= MAX_EVALUATIONS:
            self._finish(f"It ended in an evaluation, after {MAX_EVALUATIONS} batches of it.")

    # Times.

    def _on_tick(self) -> None:
        with self._exclusive() as is_exclusive:
            # The profiler needs modules of torch. The next tick may find them imported.
            if is_exclusive and not main_thread.is_importing("torch"):
                self._check_clock(has_sign=False)

    def _check_clock(self, has_sign: bool) -> None:
        now_ns, duration_s = clock.perf_ns(), self._options.duration_s
        if self._profiling.is_running:
            if (
                self._stop_at is not None
                and now_ns >= self._stop_at
                and self._profiling.can_stop_here
            ):
                self._finish(None)
            return
        is_late = self._is_late(now_ns)
        if not self._may_start() or self._is_done:
            return
        if self._fired_ns and (duration_s is not None or is_late):
            self._fired_ns.pop(0)
            self._begin(TRIGGERED_NS if duration_s is None else round(duration_s * S))
        elif duration_s is not None and (is_late or (has_sign and self._is_start_due(now_ns))):
            self._begin(round(duration_s * S))
            self._start_at = None

    def _is_start_due(self, now_ns: int) -> bool:
        return self._start_at is not None and now_ns >= self._start_at

    def _is_late(self, now_ns: int) -> bool:
        """Whether a start is overdue because no step has started the window."""
        if self._fired_ns:
            return now_ns >= self._fired_ns[0] + PATIENCE_NS
        if self._start_at is None or self._options.duration_s is None:
            return False
        patience_ns = FIRST_SIGN_NS if self._options.delay_s is None else PATIENCE_NS
        return now_ns >= self._start_at + patience_ns

    def _is_overdue(self) -> bool:
        """Whether the main thread has to act; called in the ticker thread."""
        now_ns = clock.perf_ns()
        if self._profiling.is_running:
            return self._stop_at is not None and now_ns >= self._stop_at + PATIENCE_NS
        return not self._is_off and not self._is_done and self._is_late(now_ns)

    def _on_trigger(self) -> None:
        """A window was requested; called in a signal handler or in the ticker thread."""
        self._fired_ns.append(clock.perf_ns())

    # The profiler.

    def _begin(self, length_ns: int | None, is_preview: bool = False) -> None:
        """Start to record, for a time or (None) until the last step of the span."""
        if length_ns is not None and not is_preview:
            self._span = None
        self._profiling.begin(is_preview)
        if self._profiling.window is not None:
            self._stop_at = None if length_ns is None else clock.perf_ns() + length_ns
            self._may_preview = False

    def _finish(self, reason: str | None) -> None:
        """End the current window and prepare the next one."""
        window = self._profiling.window
        self._stop_at = None
        self._profiling.finish(reason)
        if window is None:  # it was warming up: the window can still be scheduled
            self._span = None
        if window is None or window.is_preview:
            return
        self._index += 1
        self._span = None
        if self._trigger is not None or self._options.program_range:
            self._schedule = None
        elif self._schedule is None or self._schedule.span(self._index) is None:
            self._schedule, self._is_done = None, True

    def _may_start(self) -> bool:
        is_off = self._is_off or self._profiling.problem is not None
        return not is_off and not self._program_profiler.is_running

    def _wants_preview(self) -> bool:
        is_free = not self._profiling.is_running and not self._is_done
        return self._may_preview and is_free and self._may_start()

    def _is_idle(self) -> bool:
        """Whether all windows are recorded and no trigger can request more."""
        return self._is_done and self._trigger is None and not self._profiling.is_running

    @contextmanager
    def _exclusive(self) -> Iterator[bool]:
        """Yields whether this call may proceed: signals and the ticker can interrupt at any time,
        and only one of them may run at once."""
        if self._is_busy:
            yield False
            return
        self._is_busy = True
        try:
            yield True
        finally:
            self._is_busy = False
