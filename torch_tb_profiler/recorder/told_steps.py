"""Steps told by who knows them: the callbacks of frameworks, in place of those that are found."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.steps import PROGRAM


class ToldSteps:
    """Tells the session of this process what begins and ends; without one, nobody.

    Nothing here raises: what goes wrong is what the recording lacks.
    """

    def __init__(self) -> None:
        """From now on steps are told."""
        self._spans: Any = None
        self._last_ns = clock.perf_ns()
        self._session = sessions.current()
        finder: Any = None if self._session is None else self._session.parts.get("steps")
        if finder is not None:
            self._guard(lambda: setattr(self, "_spans", finder.give_way()))

    def training(self) -> None:
        """Training goes on: what happens from now on belongs to a step."""
        self._last_ns = clock.perf_ns()
        self._tell(lambda spans: spans.train(self._last_ns))

    def works(self) -> None:
        """The step under way, of training or evaluation, has its batch."""
        self._tell(lambda spans: spans.worked())

    def step_ended(self) -> None:
        """A training step ended, and the next one begins."""
        self._tell(lambda spans: spans.end(clock.perf_ns(), PROGRAM))
        self._last_ns = clock.perf_ns()

    def no_step(self) -> None:
        """What happens from now on is no step of training, until :meth:`training`."""
        self._last_ns = clock.perf_ns()
        self._tell(lambda spans: spans.give_up(self._last_ns))

    def evaluating(self, since_last: bool = False) -> None:
        """A step of an evaluation begins, and one that works ends.

        Args:
            since_last: It began when the last of the others here was told.
        """
        begin_ns = self._last_ns if since_last else clock.perf_ns()
        self._tell(lambda spans: spans.evaluate(begin_ns, PROGRAM))

    def evaluated(self) -> None:
        """The evaluation is over."""
        self._tell(lambda spans: spans.is_evaluating and spans.end_evaluation(clock.perf_ns()))

    @property
    def is_evaluating(self) -> bool:
        """Whether a step of an evaluation is under way."""
        return bool(self._spans is not None and self._spans.is_evaluating)

    def _tell(self, call: Any) -> None:
        if self._spans is not None and sessions.current() is self._session:
            self._guard(lambda: call(self._spans))

    def _guard(self, call: Any) -> None:
        try:
            call()
        except Exception as error:
            self._spans = None
            if self._session is not None:
                reason = f"The recorder failed: {type(error).__name__}: {error}"
                self._session.miss("steps", reason)
