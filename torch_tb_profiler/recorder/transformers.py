"""A callback for Hugging Face's ``Trainer`` that records:
``Trainer(…, callbacks=[TransformersRecorder("logs/run1")])``."""

# ruff: noqa: ARG002 - the signatures of hooks are the Trainer's
from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder.in_program import Recording, record
from torch_tb_profiler.recorder.steps.explicit_steps import ExplicitSteps

if TYPE_CHECKING:
    from transformers import TrainerCallback
else:
    TrainerCallback = import_module("transformers").TrainerCallback


class TransformersRecorder(TrainerCallback):  # type: ignore[misc]
    """Records the training of a ``Trainer`` with exact step boundaries.

    A step is one optimizer step: batches with accumulated gradients form one step. ``evaluate`` and
    writing checkpoints are outside training steps. The ``Trainer`` fetches a batch before it uses
    the previous one, so the samples of a step are those of the batches fetched in it. It reports no
    exceptions: the recording ends with the program, or call :meth:`stop`.

    Attributes:
        recording: The recording, from the start of the training; afterwards it has ``folder``,
            ``files`` and ``summary()``.
    """

    def __init__(self, folder: str | os.PathLike[str] = "logs", **options: Any) -> None:
        """Create the callback; recording starts with the training.

        Args:
            folder: See :func:`torch_tb_profiler.record`.
            options: Likewise.

        Raises:
            ValueError: the steps or times are invalid.
            TypeError: there is no such option.
        """
        self._arguments = (folder, options)
        record(folder, **options)  # raises for invalid options
        self.recording: Recording | None = None
        self._steps: ExplicitSteps | None = None

    def stop(self, error: BaseException | None = None) -> None:
        """End the recording if the training did not."""
        recording, self._steps = self.recording, None
        atexit.unregister(self._stop_at_exit)
        if recording is not None:
            recording.__exit__(None if error is None else type(error), error, None)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start recording."""
        self.stop()
        folder, options = self._arguments
        self.recording = record(folder, **options)
        self.recording.__enter__()
        atexit.register(self._stop_at_exit)
        self._steps = ExplicitSteps()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the recording."""
        self.stop()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the first step of the epoch; its batches are requested next."""
        if self._steps is not None:
            self._steps.resume_training()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The batches of the step are loaded."""
        if self._steps is not None:
            self._steps.resume_training()
            self._steps.mark_worked()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the step: the optimizer has stepped."""
        if self._steps is not None:
            self._steps.end_step()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Leave the step: time between epochs belongs to none."""
        if self._steps is not None:
            self._steps.leave_step()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End a step of the evaluation; the first one started when training stopped."""
        if self._steps is not None:
            if not self._steps.is_evaluating:
                self._steps.begin_evaluation_step(since_last=True)
            self._steps.mark_worked()
            self._steps.begin_evaluation_step()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the evaluation and start the next training step."""
        if self._steps is not None:
            self._steps.end_evaluation()
            self._steps.resume_training()

    def on_predict(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any
    ) -> None:
        """End the prediction; see :meth:`on_evaluate`."""
        self.on_evaluate(args, state, control)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the next step after the checkpoint was written."""
        if self._steps is not None:
            self._steps.leave_step()
            self._steps.resume_training()

    def _stop_at_exit(self) -> None:
        self.stop(getattr(sys, "last_value", None))  # the uncaught exception, if any
