"""A Lightning callback that records: ``Trainer(callbacks=[LightningRecorder("logs/run1")])``."""

# ruff: noqa: ARG002, PLR0917 - the signatures of hooks are Lightning's
from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder.in_program import Recording, record
from torch_tb_profiler.recorder.steps.explicit_steps import ExplicitSteps

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
else:
    Callback = object  # two packages define it; which one is decided at the first instance

PACKAGES = ("lightning.pytorch", "pytorch_lightning")


class LightningRecorder(Callback):  # type: ignore[misc]
    """Records the ``fit`` of a ``Trainer`` with exact step boundaries.

    A step is one optimizer step: batches with accumulated gradients form one step. Validation is
    recorded as evaluation, outside training steps.

    Attributes:
        recording: The recording, from the start of the fit; afterwards it has ``folder``, ``files``
            and ``summary()``.
    """

    def __new__(cls, *_arguments: Any, **_options: Any) -> LightningRecorder:
        """Create an instance of a subclass that the loaded Lightning accepts as a callback."""
        instance: LightningRecorder = object.__new__(_callback_class(cls))
        return instance

    def __init__(self, folder: str | os.PathLike[str] = "logs", **options: Any) -> None:
        """Create the callback; recording starts with the fit.

        Args:
            folder: See :func:`torch_tb_profiler.record`.
            options: Likewise.

        Raises:
            ImportError: Lightning is not installed.
            ValueError: the steps or times are invalid.
            TypeError: there is no such option.
        """
        self._arguments = (folder, options)
        record(folder, **options)  # raises for invalid options
        self.recording: Recording | None = None
        self._steps: ExplicitSteps | None = None
        self._optimizer_steps = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by arguments: every spawned process creates its own callback."""
        cls = next(each for each in type(self).__mro__ if each in _subclasses)
        return _rebuild, (cls, *self._arguments)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Start recording."""
        folder, options = self._arguments
        self.recording = record(folder, **options)
        self.recording.__enter__()
        self._steps = ExplicitSteps()
        self._optimizer_steps = trainer.global_step

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """End the recording."""
        self._end(None)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """End the recording if ``on_fit_end`` was not called."""
        self._end(None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the recording with the exception as its reason."""
        self._end(exception)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the first step of the epoch."""
        if self._steps is not None:
            self._steps.resume_training()

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """The batch is loaded."""
        if self._steps is not None:
            self._steps.resume_training()
            self._steps.mark_worked()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the step if an optimizer has stepped."""
        if self._steps is not None and trainer.global_step != self._optimizer_steps:
            self._optimizer_steps = trainer.global_step
            self._steps.end_step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the step: time between epochs belongs to none."""
        if self._steps is not None:
            self._steps.leave_step()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Start an evaluation."""
        if self._steps is not None:
            self._steps.begin_evaluation_step()

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """The batch is loaded."""
        if self._steps is not None:
            self._steps.mark_worked()

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """End a step of the evaluation and start the next."""
        if self._steps is not None:
            self._steps.begin_evaluation_step()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """End the evaluation; training resumes unless this was the sanity check before it."""
        if self._steps is not None:
            self._steps.end_evaluation()
            if not trainer.sanity_checking:
                self._steps.resume_training()

    def _end(self, error: BaseException | None) -> None:
        recording, self._steps = self.recording, None
        if recording is not None:
            recording.__exit__(None if error is None else type(error), error, None)


_subclasses: dict[type, type] = {}


def _callback_class(cls: type) -> type:
    """A subclass of ``cls`` and of the ``Callback`` class of every loaded Lightning package."""
    if cls not in _subclasses:
        bases = tuple(import_module(f"{name}.callbacks").Callback for name in _packages())
        _subclasses[cls] = type(cls.__name__, (cls, *bases), {"__module__": cls.__module__})
    return _subclasses[cls]


def _packages() -> list[str]:
    """The Lightning packages that the program has loaded; else the first installed one.

    Raises:
        ImportError: none is installed.
    """
    loaded = [name for name in PACKAGES if name in sys.modules]
    if loaded:
        return loaded
    for name in PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != name.split(".")[0]:
                raise  # installed, but one of its dependencies is missing
            continue
        return [name]
    raise ImportError("Lightning is not installed: neither lightning nor pytorch_lightning is")


def _rebuild(
    cls: type[LightningRecorder], folder: Any, options: dict[str, Any]
) -> LightningRecorder:
    return cls(folder, **options)
