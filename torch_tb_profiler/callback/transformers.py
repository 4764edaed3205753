"""``ProfilerCallback`` for Hugging Face's ``Trainer``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch_tb_profiler.callback.profiler_callback import ProfilerCallback
from torch_tb_profiler.callback.verdict_loggers import log_texts_to_active
from torch_tb_profiler.recorder.transformers import TransformersRecorder

if TYPE_CHECKING:
    from torch_tb_profiler.callback.summary import RecordingSummary

LAST_LOG = "train_runtime"
"""What the ``Trainer`` logs when the training is over, before its callbacks close their runs."""


class TransformersProfiler(ProfilerCallback, TransformersRecorder):
    """Records a training, and logs to what the ``Trainer`` reports to."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the step, and report on the last window."""
        super().on_step_end(args, state, control, **kwargs)
        if self._steps is not None and state.is_world_process_zero:
            self._follow_windows(log_texts_to_active)

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,  # noqa: ARG002 - the signatures of hooks are the Trainer's
        logs: dict[str, Any] | None = None,
        **_kwargs: Any,
    ) -> None:
        """End the recording at the last log of the training."""
        if logs and LAST_LOG in logs:
            self._end_training(args, state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:  # noqa: ARG002
        """End the recording if there was no such log."""
        self._end_training(args, state)

    def _end_training(self, args: Any, state: Any) -> None:
        is_recording = self._steps is not None
        self.stop()
        if is_recording and state.is_world_process_zero:
            self._report(log_texts_to_active, partial(_log_points, args))


def _log_points(args: Any, summary: RecordingSummary) -> list[str]:
    from torch_tb_profiler.callback.trainer_loggers import log_to_active  # noqa: PLC0415 - polars

    return log_to_active(args, summary)
