"""A callback of Hugging Face's ``Trainer`` that records:
``Trainer(…, callbacks=[TransformersRecorder("logs/run1")])``."""

# ruff: noqa: ARG002 - hooks have the arguments that the Trainer calls them with
from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder.in_program import Recording, record
from torch_tb_profiler.recorder.told_steps import ToldSteps

if TYPE_CHECKING:
    from transformers import TrainerCallback
else:
    TrainerCallback = import_module("transformers").TrainerCallback


class RecordCallback(TrainerCallback):  # type: ignore[misc]
    """Records what a ``Trainer`` trains, with steps told exactly.

    A step is one of the optimizer: batches whose gradients are accumulated are one. ``evaluate``
    is in no step of training, and neither is writing a checkpoint. The ``Trainer`` takes a batch
    before it uses the last one, so samples are of the batches that came in a step. It tells nobody
    of an exception: the recording ends with the program, or call :meth:`stop`.

    Attributes:
        recording: The recording, from the start of the training on; afterwards it has ``folder``,
            ``files`` and ``summary()``.
    """

    def __init__(self, folder: str | os.PathLike[str] = "logs", **options: Any) -> None:
        """Record nothing yet.

        Args:
            folder: As of :func:`torch_tb_profiler.record`.
            options: Likewise.

        Raises:
            ValueError: the steps or times make no sense.
            TypeError: there is no such option.
        """
        self._arguments = (folder, options)
        record(folder, **options)  # what makes no sense is told here
        self.recording: Recording | None = None
        self._steps: ToldSteps | None = None

    def stop(self, error: BaseException | None = None) -> None:
        """End the recording, where the training did not."""
        recording, self._steps = self.recording, None
        atexit.unregister(self._stop_at_exit)
        if recording is not None:
            recording.__exit__(None if error is None else type(error), error, None)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin to record."""
        self.stop()
        folder, options = self._arguments
        self.recording = record(folder, **options)
        self.recording.__enter__()
        atexit.register(self._stop_at_exit)
        self._steps = ToldSteps()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the recording."""
        self.stop()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The first step of the epoch begins: its batches are asked for."""
        if self._steps is not None:
            self._steps.training()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The batches of a step are there."""
        if self._steps is not None:
            self._steps.training()
            self._steps.works()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The optimizer has stepped."""
        if self._steps is not None:
            self._steps.step_ended()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What is between epochs is no step."""
        if self._steps is not None:
            self._steps.no_step()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step of an evaluation ended; the first began when training was left."""
        if self._steps is not None:
            if not self._steps.is_evaluating:
                self._steps.evaluating(since_last=True)
            self._steps.works()
            self._steps.evaluating()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The evaluation is over, and the next step of training begins."""
        if self._steps is not None:
            self._steps.evaluated()
            self._steps.training()

    def on_predict(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any
    ) -> None:
        """Likewise."""
        self.on_evaluate(args, state, control)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A checkpoint was written: the next step begins after it."""
        if self._steps is not None:
            self._steps.no_step()
            self._steps.training()

    def _stop_at_exit(self) -> None:
        self.stop(getattr(sys, "last_value", None))  # what nobody caught
