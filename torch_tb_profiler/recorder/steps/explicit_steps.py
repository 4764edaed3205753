"""Step boundaries given explicitly by callbacks of frameworks, instead of detected ones."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.steps.detector import PROGRAM


class ExplicitSteps:
    """Passes step boundaries to the session of this process; does nothing without a session.

    Nothing here raises; errors are recorded as reasons.
    """

    def __init__(self) -> None:
        """Switch the session from detected to explicit steps."""
        self._spans: Any = None
        self._last_ns = clock.perf_ns()
        self._session = sessions.current()
        finder: Any = None if self._session is None else self._session.parts.get("steps")
        if finder is not None:
            self._guard(lambda: setattr(self, "_spans", finder.use_explicit_steps()))

    def resume_training(self) -> None:
        """Resume training: time from now on belongs to a training step."""
        self._last_ns = clock.perf_ns()
        self._report(lambda spans: spans.train(self._last_ns))

    def mark_worked(self) -> None:
        """The current step has its batch."""
        self._report(lambda spans: spans.mark_worked())

    def end_step(self) -> None:
        """End a training step and start the next."""
        self._report(lambda spans: spans.end(clock.perf_ns(), PROGRAM))
        self._last_ns = clock.perf_ns()

    def leave_step(self) -> None:
        """Leave the step: time from now on belongs to none, until :meth:`resume_training`."""
        self._last_ns = clock.perf_ns()
        self._report(lambda spans: spans.discard(self._last_ns))

    def begin_evaluation_step(self, since_last: bool = False) -> None:
        """Start a step of an evaluation; ends the previous one if it has a batch.

        Args:
            since_last: The step started at the last call of another method of this object.
        """
        begin_ns = self._last_ns if since_last else clock.perf_ns()
        self._report(lambda spans: spans.evaluate(begin_ns, PROGRAM))

    def end_evaluation(self) -> None:
        """End the evaluation."""
        self._report(lambda spans: spans.is_evaluating and spans.end_evaluation(clock.perf_ns()))

    @property
    def is_evaluating(self) -> bool:
        """Whether the current step belongs to an evaluation."""
        return bool(self._spans is not None and self._spans.is_evaluating)

    def _report(self, call: Any) -> None:
        if self._spans is not None and sessions.current() is self._session:
            self._guard(lambda: call(self._spans))

    def _guard(self, call: Any) -> None:
        try:
            call()
        except Exception as error:
            self._spans = None
            if self._session is not None:
                reason = f"The recorder failed: {type(error).__name__}: {error}"
                self._session.report_missing("steps", reason)
