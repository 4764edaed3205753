"""Decides when the profiler records: at the steps, the times or the moments that were asked for.

Until the first window there is a preview, so that a program of three steps leaves a trace too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.recorder import clock, main_thread, own_profiler
from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.own_windows import OwnProfiler
from torch_tb_profiler.recorder.profiling import Profiling
from torch_tb_profiler.recorder.schedule import Schedule, Span, scheduled, triggered
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.trigger import Trigger

S = 1_000_000_000
PREVIEW_NS = 30 * S
PATIENCE_NS = 1 * S
"""How long a time that has come waits for the program to do something that we hear of."""

FIRST_SIGN_NS = 30 * S
"""Likewise for the first sign of work, where no time was given to start at."""

TRIGGERED_NS = 10 * S
"""How long a window lasts that somebody asked for in a program without steps."""

MAX_EVALUATIONS = 20
"""Batches of an evaluation that are recorded inside a window before it ends there."""


class Windows:
    """The part of a session that runs the profiler."""

    def __init__(self, session: Session) -> None:
        """Nothing is recorded yet."""
        options = session.options
        self._session = session
        self._options = options
        self._profiling = Profiling(session)
        self._own = OwnProfiler(session, self)
        self._schedule: Schedule | None = None
        self._index = 0
        self._span: Span | None = None
        self._start_at: int | None = None
        self._stop_at: int | None = None
        self._trigger: Trigger | None = None
        self._fired_ns: list[int] = []
        self._is_off = options.timer_only
        self._is_done = False
        self._is_busy = False
        self._has_preview = not options.nsys

    @property
    def is_profiling(self) -> bool:
        """Whether a profiler slows the program now: it records, warms up or makes a preview."""
        return self._profiling.is_running or self._own.is_running

    def start(self) -> None:
        """Begin to wait for the first window; torch is imported."""
        options = self._options
        if options.timer_only:
            self._session.miss("operators", "Recorded with --timer-only: no profiler ran.")
        else:
            own_profiler.listen(self._own)
        if options.trigger is not None:
            self._has_preview = False
            self._trigger = Trigger(options.trigger, self._fire)
            self._trigger.start()
        elif options.delay_s is not None or options.duration_s is not None:
            self._has_preview = False
            self._start_at = clock.perf_ns() + round((options.delay_s or 0) * S)
        else:
            self._schedule = scheduled(options)

    def stop(self, reason: str) -> None:
        """End and write what is being recorded."""
        if self._trigger is not None:
            self._trigger.stop()
        own_profiler.listen_no_more(self._own)
        self._profiling.settle()
        if self._profiling.is_here:
            self._profiling.finish(f"The program ended in it ({reason}).")
        else:
            self._profiling.lose("The program ended in another thread than it was recorded in.")
        if not self._own.has_exported:
            self._profiling.write_preview()
        self._own.tell()
        if not self._profiling.has_any and not self._own.was_used and self._may_start():
            self._session.miss("window", "The program ended before any step was to be recorded.")

    def flush(self) -> None:
        """Look at the trigger and at the clock; in the ticker's thread."""
        if self._trigger is not None:
            self._trigger.poll()
            if self._trigger.problem is not None:
                self._session.miss("window", self._trigger.problem)
        if self._is_overdue() and not main_thread.ask(self._on_time):
            self._session.miss("window", "Nothing can be started at a time in this interpreter.")

    # What the session tells.

    def batch_wanted(self, _loader: int, _time_ns: int) -> None:
        """Look at the clock, where there is a time to wait for."""
        if self._start_at is not None or self._stop_at is not None or self._fired_ns:
            self._on_time()

    def step_ended(self, step: StepRecord) -> None:
        """The range of a step ends, and perhaps the window."""
        if step.phase == TRAIN and self._own.was_used:
            self._own.saw(step)
        if self._is_idle():
            return
        with self._alone() as is_alone:
            if not is_alone:
                return
            is_last = self._span is not None and step.number >= self._span.last
            if self._profiling.is_here:
                self._profiling.end_range(step.phase)
                self._profiling.count(step)
                self._end_if_complete(is_last and step.phase == TRAIN)
            elif self._is_off and is_last:
                self._is_done = True

    def began(self, phase: str, number: int) -> None:
        """A step begins."""
        if self._is_idle():
            return
        with self._alone() as is_alone:
            if not is_alone:
                return
            if phase == TRAIN:
                self._plan(number)
                self._advance(number)
            self._look_at_clock(has_sign=True)
            if self._wants_preview():
                self._begin(PREVIEW_NS, is_preview=True)
            self._profiling.begin_range(phase, number)

    def given_up(self, phase: str, number: int) -> None:
        """What began as a step was none."""
        with self._alone() as is_alone:
            if is_alone:
                self._profiling.end_range(phase, given_up=number)

    def end_program_if_done(self) -> None:
        """Raise what ends the program, where that was asked for and all is recorded.

        Raises:
            SystemExit: it ends, well.
        """
        if not (self._options.stop_after and self._is_done):
            return
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(0)
        reason = "The loop does not run in the main thread: --stop-after could not end the program."
        self._session.miss("window", reason)

    def give_way(self, for_good: bool) -> None:
        """As :meth:`GivesWay.give_way`."""
        with self._alone() as is_alone:
            if is_alone and self._profiling.is_here:
                self._finish("The program's own profiler started.")
            self._is_off = self._is_off or for_good

    # Steps.

    def _plan(self, number: int) -> None:
        """Find the span of steps to record next."""
        if self._schedule is None and self._options.duration_s is None:
            if self._fired_ns:
                self._fired_ns.pop(0)
                self._schedule, self._index = triggered(self._options, number), 0
            elif self._is_time(clock.perf_ns()):
                self._start_at = None
                self._schedule = scheduled(self._options, number)
        is_past = self._span is None or (number > self._span.first and self._may_start())
        is_free = self._profiling.window is None or self._profiling.has_preview_under_way
        if self._schedule is not None and is_free and is_past:
            self._span = self._schedule.span_at(self._index, number)

    def _advance(self, number: int) -> None:
        """Warm up, or record, if it is time."""
        span, profiling = self._span, self._profiling
        if span is None or not span.warm_from <= number <= span.last or not self._may_start():
            return
        if profiling.has_preview_under_way and profiling.is_here:
            self._finish(None)
        if profiling.window is not None:
            return
        if number < span.first:
            profiling.prepare()
        elif profiling.is_here or not profiling.is_running:
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

    def _on_time(self) -> None:
        with self._alone() as is_alone:
            if is_alone:
                self._look_at_clock(has_sign=False)

    def _look_at_clock(self, has_sign: bool) -> None:
        now_ns, duration_s = clock.perf_ns(), self._options.duration_s
        if self._profiling.is_running:
            if self._stop_at is not None and now_ns >= self._stop_at and self._profiling.is_here:
                self._finish(None)
            return
        is_late = self._is_late(now_ns)
        if not self._may_start() or self._is_done:
            return
        if self._fired_ns and (duration_s is not None or is_late):
            self._fired_ns.pop(0)
            self._begin(TRIGGERED_NS if duration_s is None else round(duration_s * S))
        elif duration_s is not None and (is_late or (has_sign and self._is_time(now_ns))):
            self._begin(round(duration_s * S))
            self._start_at = None

    def _is_time(self, now_ns: int) -> bool:
        return self._start_at is not None and now_ns >= self._start_at

    def _is_late(self, now_ns: int) -> bool:
        """Whether a time has come, and no step that could have begun the window."""
        if self._fired_ns:
            return now_ns >= self._fired_ns[0] + PATIENCE_NS
        if self._start_at is None or self._options.duration_s is None:
            return False
        patience_ns = FIRST_SIGN_NS if self._options.delay_s is None else PATIENCE_NS
        return now_ns >= self._start_at + patience_ns

    def _is_overdue(self) -> bool:
        """Whether the main thread has to be asked; in the ticker's thread."""
        now_ns = clock.perf_ns()
        if self._profiling.is_running:
            return self._stop_at is not None and now_ns >= self._stop_at + PATIENCE_NS
        return not self._is_off and not self._is_done and self._is_late(now_ns)

    def _fire(self) -> None:
        """Somebody asked for a window; in a signal handler, or in the ticker's thread."""
        self._fired_ns.append(clock.perf_ns())

    # The profiler.

    def _begin(self, length_ns: int | None, is_preview: bool = False) -> None:
        """Record from now on, for so long, or until the last step of the span."""
        if length_ns is not None and not is_preview:
            self._span = None
        self._profiling.begin(is_preview)
        if self._profiling.window is not None:
            self._stop_at = None if length_ns is None else clock.perf_ns() + length_ns
            self._has_preview = False

    def _finish(self, reason: str | None) -> None:
        """End what is recorded, and look for the next window."""
        window = self._profiling.window
        self._stop_at = None
        self._profiling.finish(reason)
        if window is None:  # it was warming up: there may be time for it yet
            self._span = None
        if window is None or window.is_preview:
            return
        self._index += 1
        self._span = None
        if self._trigger is not None:
            self._schedule = None
        elif self._schedule is None or self._schedule.span(self._index) is None:
            self._schedule, self._is_done = None, True

    def _may_start(self) -> bool:
        is_off = self._is_off or self._profiling.problem is not None
        return not is_off and not self._own.is_running

    def _wants_preview(self) -> bool:
        is_free = not self._profiling.is_running and not self._is_done
        return self._has_preview and is_free and self._may_start()

    def _is_idle(self) -> bool:
        """Whether all is recorded, and nobody may ask for more."""
        return self._is_done and self._trigger is None and not self._profiling.is_running

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether nothing of this is under way: signals and the ticker come at any moment."""
        if self._is_busy:
            yield False
            return
        self._is_busy = True
        try:
            yield True
        finally:
            self._is_busy = False
