"""Decides when the profiler records: at the steps, the times or the moments that were asked for.

Until the first window there is a preview, so that a program of three steps leaves a trace too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from torch_tb_profiler.recorder import clock, main_thread, own_profiler
from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.nsys import NsysRun
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.own_windows import OwnProfiler
from torch_tb_profiler.recorder.profiler_run import ProfilerRun, is_possible_now
from torch_tb_profiler.recorder.schedule import Schedule, Span, scheduled, triggered
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.trigger import Trigger
from torch_tb_profiler.recorder.window_files import Window

RANGES = {TRAIN: "ProfilerStep#", "evaluation": "Evaluation#"}
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
        self._schedule: Schedule | None = None
        self._index = 0
        self._span: Span | None = None
        self._run: ProfilerRun | None = None
        self._window: Window | None = None
        self._preview: Window | None = None
        self._start_at: int | None = None
        self._stop_at: int | None = None
        self._trigger: Trigger | None = None
        self._fired_ns: list[int] = []
        self._written = 0
        self._is_off = options.timer_only
        self._is_done = False
        self._is_busy = False
        self._has_preview = not options.nsys
        self._own = OwnProfiler(session, self)

    @property
    def is_profiling(self) -> bool:
        """Whether a profiler slows the program now: it records, warms up or makes a preview."""
        return self._run is not None or self._own.is_running

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
        window = self._window
        if self._is_busy and window is not None and not window.is_settled:
            with suppress(OSError):  # a signal came while it was written
                window.settle()
        self._end_at_exit(reason)
        if self._preview is not None and not self._written and not self._own.has_exported:
            self._preview.export()
        self._preview = None
        self._own.tell()

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

    def batch_given(self, loader: int, time_ns: int, wait_ns: int, samples: int | None) -> None:
        """Of no interest."""

    def loader_ended(self, loader: int, time_ns: int) -> None:
        """Of no interest."""

    def step_ended(self, step: StepRecord) -> None:
        """The range of a step ends, and perhaps the window."""
        if step.phase == TRAIN and self._own.was_used:
            self._own.saw(step)
        if self._is_idle():
            return
        with self._alone() as is_alone:
            window = self._window
            if not is_alone:
                return
            if window is not None and self._is_here():
                window.run.end_range(step.phase)  # type: ignore[union-attr]
                self._count(window, step)
            elif self._is_off and self._span is not None and step.number >= self._span.last:
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
            if self._window is None and self._run is None and self._wants_preview():
                self._begin(is_preview=True)
            if self._window is not None and self._window.run is not None and self._is_here():
                self._window.run.begin_range(phase, f"{RANGES[phase]}{number}")

    def given_up(self, phase: str, number: int) -> None:
        """What began as a step was none."""
        with self._alone() as is_alone:
            if is_alone and self._window is not None and self._is_here():
                self._window.run.end_range(phase)  # type: ignore[union-attr]
                self._window.given_up(f"{RANGES[phase]}{number}")

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
            if not is_alone:
                return
            if self._run is not None and self._is_here():
                self._end_now("The program's own profiler started.")
            self._is_off = self._is_off or for_good

    # Steps.

    def _plan(self, number: int) -> None:
        """Find the span of steps to record next."""
        now_ns = clock.perf_ns()
        if self._schedule is None and self._options.duration_s is None:
            if self._fired_ns:
                self._fired_ns.pop(0)
                self._schedule, self._index = triggered(self._options, number), 0
            elif self._start_at is not None and now_ns >= self._start_at:
                self._start_at = None
                self._schedule = scheduled(self._options, number)
        is_past = self._span is None or (number > self._span.last and not self._is_off)
        is_free = self._window is None or self._window.is_preview
        if self._schedule is not None and is_free and is_past:
            self._span = self._schedule.span_at(self._index, number)

    def _advance(self, number: int) -> None:
        span = self._span
        if span is None or number < span.warm_from or self._is_off:
            return
        if self._window is not None and self._window.is_preview and self._is_here():
            self._end_preview()
        if self._window is not None or number > span.last:
            return
        if self._run is None:
            self._span = span = Span(span.warm_from, max(span.first, number), span.last)
            self._make_run()
        if self._run is not None and number >= span.first and self._is_here():
            self._begin(is_preview=False)

    def _count(self, window: Window, step: StepRecord) -> None:
        if step.phase == TRAIN:
            window.saw(step.number)
            span = self._span
            if not window.is_preview and span is not None and step.number >= span.last:
                self._finish(None)
        else:
            window.evaluations += 1
            if not window.is_preview and window.evaluations >= MAX_EVALUATIONS:
                self._finish(f"It ended in an evaluation, after {MAX_EVALUATIONS} batches of it.")

    # Times.

    def _on_time(self) -> None:
        with self._alone() as is_alone:
            if is_alone:
                self._look_at_clock(has_sign=False)

    def _look_at_clock(self, has_sign: bool) -> None:
        now_ns = clock.perf_ns()
        if self._window is not None:
            if self._stop_at is not None and now_ns >= self._stop_at and self._is_here():
                self._end_preview() if self._window.is_preview else self._finish(None)
            return
        if self._is_off or self._is_done or self._run is not None:
            return
        if self._fired_ns and (self._options.duration_s is not None or self._is_late(now_ns)):
            self._fired_ns.pop(0)
            self._begin_timed(self._options.duration_s or TRIGGERED_NS / S)
        elif (
            self._start_at is not None
            and self._options.duration_s is not None
            and now_ns >= self._start_at
            and (has_sign or self._is_late(now_ns))
        ):
            self._start_at = None
            self._begin_timed(self._options.duration_s)

    def _begin_timed(self, duration_s: float) -> None:
        self._span = None
        self._begin(is_preview=False)
        self._stop_at = clock.perf_ns() + round(duration_s * S)

    def _is_late(self, now_ns: int) -> bool:
        """Whether a time has come, and no step that could have begun the window."""
        if self._fired_ns:
            return now_ns >= self._fired_ns[0] + PATIENCE_NS
        if self._start_at is None:
            return False
        patience_ns = FIRST_SIGN_NS if self._options.delay_s is None else PATIENCE_NS
        return now_ns >= self._start_at + patience_ns

    def _is_overdue(self) -> bool:
        """Whether the main thread has to be asked; in the ticker's thread."""
        now_ns = clock.perf_ns()
        if self._window is not None or self._run is not None:
            return self._stop_at is not None and now_ns >= self._stop_at + PATIENCE_NS
        return not self._is_off and not self._is_done and self._is_late(now_ns)

    def _fire(self) -> None:
        """Somebody asked for a window; in a signal handler, or in the ticker's thread."""
        self._fired_ns.append(clock.perf_ns())

    # The profiler.

    def _wants_preview(self) -> bool:
        return self._has_preview and not self._is_off and not self._is_done and not self._written

    def _make_run(self) -> None:
        """Have a profiler that warms up, where one can."""
        if self._own.is_running or is_possible_now() is not None:
            return
        try:
            self._run = (NsysRun if self._options.nsys else ProfilerRun)(self._options)
            self._run.prepare()
        except Exception as error:
            self._run = None
            self._turn_off(f"The profiler did not start: {error}")

    def _begin(self, is_preview: bool) -> None:
        """Record from now on."""
        self._session.evidence()
        if self._run is None:
            self._make_run()
        run = self._run
        if run is None:
            return
        try:
            run.record()
        except Exception as error:
            self._run = None
            self._turn_off(f"The profiler did not start: {error}")
            return
        self._window = Window(self._session, run, is_preview)
        if is_preview:
            self._has_preview = False
            self._stop_at = clock.perf_ns() + PREVIEW_NS

    def _end_preview(self) -> None:
        """Stop the preview, and keep it until there is something better."""
        window = self._stop_run(None)
        if window is not None:
            self._preview = window

    def _finish(self, reason: str | None) -> None:
        """End the window, write it, and look for the next one."""
        window = self._stop_run(reason)
        if window is not None:
            self._window = window
            window.export()
            self._window = None
            if window.is_written:
                self._written += 1
                self._preview = None
        self._index += 1
        self._span = None
        if self._trigger is not None:
            self._schedule = None
        elif self._schedule is None or self._schedule.span(self._index) is None:
            self._schedule, self._is_done = None, True

    def _stop_run(self, reason: str | None) -> Window | None:
        """Stop the profiler; the window that it recorded, unless that is lost."""
        window, run = self._window, self._run
        self._window = self._run = self._stop_at = None
        if window is None or run is None:
            return None
        window.end(reason)
        try:
            run.stop()
        except Exception as error:
            window.lose(f"The profiler did not stop: {type(error).__name__}: {error}.")
            return None
        return window

    def _end_at_exit(self, reason: str) -> None:
        if self._run is None:
            return
        if not self._is_here():
            if self._window is not None:
                self._window.lose("The program ended in another thread than it was recorded in.")
        else:
            self._end_now(f"The program ended in it ({reason}).")

    def _end_now(self, reason: str) -> None:
        if self._run is None:
            return
        if self._window is None:  # it was warming up
            with suppress(Exception):
                self._run.record()
                self._run.stop()
            self._run = None
        elif self._window.is_preview:
            self._end_preview()
        else:
            self._finish(reason)

    def _turn_off(self, reason: str) -> None:
        self._is_off = True
        self._session.miss("window", reason)

    def _is_idle(self) -> bool:
        """Whether all is recorded, and nobody may ask for more."""
        return self._is_done and self._run is None and self._trigger is None

    def _is_here(self) -> bool:
        return self._run is not None and self._run.is_here

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


def _run_for(options: Options) -> ProfilerRun:
    if not options.nsys:
        return ProfilerRun(options)
    from torch_tb_profiler.recorder.nsys import NsysRun  # noqa: PLC0415

    return NsysRun(options)
