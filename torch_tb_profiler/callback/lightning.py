"""``ProfilerCallback`` for Lightning."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.callback.profiler_callback import ProfilerCallback
from torch_tb_profiler.callback.verdict_loggers import log_texts_to_loggers
from torch_tb_profiler.recorder.lightning import LightningRecorder

if TYPE_CHECKING:
    from torch_tb_profiler.callback.summary import RecordingSummary


class LightningProfiler(ProfilerCallback, LightningRecorder):
    """Records a ``fit``, and logs to the trainer's loggers before they are closed."""

    def __new__(cls, *arguments: Any, **options: Any) -> LightningProfiler:
        """See :class:`LightningRecorder`."""
        created = LightningRecorder.__new__(cls, *arguments, **options)
        assert isinstance(created, LightningProfiler)
        return created

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the step if an optimizer has stepped, and report on the last window."""
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if self._steps is not None and trainer.is_global_zero:
            self._follow_windows(partial(log_texts_to_loggers, trainer.loggers))

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """End the recording and report."""
        is_recording = self._steps is not None
        super().on_fit_end(trainer, pl_module)
        if is_recording and trainer.is_global_zero:
            loggers = trainer.loggers
            self._report(partial(log_texts_to_loggers, loggers), partial(_log_points, loggers))


def _log_points(loggers: list[Any], summary: RecordingSummary) -> list[str]:
    from torch_tb_profiler.callback.lightning_loggers import log_to_loggers  # noqa: PLC0415 - polars

    return log_to_loggers(loggers, summary)
