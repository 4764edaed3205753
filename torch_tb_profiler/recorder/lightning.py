"""A callback of Lightning that records: ``Trainer(callbacks=[LightningRecorder("logs/run1")])``."""

# ruff: noqa: ARG002, PLR0917 - hooks have the arguments that Lightning calls them with
from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.recorder.in_program import Recording, record
from torch_tb_profiler.recorder.told_steps import ToldSteps

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
else:
    Callback = object  # loaded when the first one is made: there are two packages of that name

PACKAGES = ("lightning.pytorch", "pytorch_lightning")


class RecordCallback(Callback):  # type: ignore[misc]
    """Records what a ``Trainer`` fits, with steps told exactly.

    A step is one of the optimizers: batches whose gradients are accumulated are one. Validation is
    evaluation, and in no step of training.

    Attributes:
        recording: The recording, from the start of the fit on; afterwards it has ``folder``,
            ``files`` and ``summary()``.
    """

    def __new__(cls, *_arguments: Any, **_options: Any) -> RecordCallback:
        """Of the class that the loaded Lightning takes for a callback."""
        made: RecordCallback = object.__new__(_with_bases(cls))
        return made

    def __init__(self, folder: str | os.PathLike[str] = "logs", **options: Any) -> None:
        """Record nothing yet.

        Args:
            folder: As of :func:`torch_tb_profiler.record`.
            options: Likewise.

        Raises:
            ImportError: Lightning is not installed.
            ValueError: the steps or times make no sense.
            TypeError: there is no such option.
        """
        self._arguments = (folder, options)
        record(folder, **options)  # what makes no sense is told here
        self.recording: Recording | None = None
        self._steps: ToldSteps | None = None
        self._optimizer_steps = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Where processes are spawned, each makes its own."""
        cls = next(each for each in type(self).__mro__ if each in _made)
        return _again, (cls, *self._arguments)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to record."""
        folder, options = self._arguments
        self.recording = record(folder, **options)
        self.recording.__enter__()
        self._steps = ToldSteps()
        self._optimizer_steps = trainer.global_step

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """End the recording."""
        self._end(None)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Likewise, where the fit ended otherwise."""
        self._end(None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the recording, and say why."""
        self._end(exception)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """The first step of the epoch begins."""
        if self._steps is not None:
            self._steps.training()

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """The batch is there."""
        if self._steps is not None:
            self._steps.training()
            self._steps.works()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step ends if an optimizer has stepped."""
        if self._steps is not None and trainer.global_step != self._optimizer_steps:
            self._optimizer_steps = trainer.global_step
            self._steps.step_ended()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """What is between epochs is no step."""
        if self._steps is not None:
            self._steps.no_step()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation begins."""
        if self._steps is not None:
            self._steps.evaluating()

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """The batch is there."""
        if self._steps is not None:
            self._steps.works()

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A step of the evaluation ends, and the next begins."""
        if self._steps is not None:
            self._steps.evaluating()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The evaluation is over; training goes on, unless it had not begun."""
        if self._steps is not None:
            self._steps.evaluated()
            if not trainer.sanity_checking:
                self._steps.training()

    def _end(self, error: BaseException | None) -> None:
        recording, self._steps = self.recording, None
        if recording is not None:
            recording.__exit__(None if error is None else type(error), error, None)


_made: dict[type, type] = {}


def _with_bases(cls: type) -> type:
    """The class, of which each loaded Lightning says that it is a callback."""
    if cls not in _made:
        bases = tuple(import_module(f"{name}.callbacks").Callback for name in _packages())
        _made[cls] = type(cls.__name__, (cls, *bases), {"__module__": cls.__module__})
    return _made[cls]


def _packages() -> list[str]:
    """Those that the program uses; else the first that is installed.

    Raises:
        ImportError: none is.
    """
    loaded = [name for name in PACKAGES if name in sys.modules]
    if loaded:
        return loaded
    for name in PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != name.split(".")[0]:
                raise  # it is installed, and lacks something
            continue
        return [name]
    raise ImportError("Lightning is not installed: neither lightning nor pytorch_lightning is")


def _again(cls: type[RecordCallback], folder: Any, options: dict[str, Any]) -> RecordCallback:
    return cls(folder, **options)
