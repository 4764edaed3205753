"""One name for the callbacks of both frameworks: ``ProfilerCallback("logs/run1")``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from torch_tb_profiler.callback.window_verdicts import WindowVerdicts
from torch_tb_profiler.reports.scalars.verdict_texts import VERDICT

if TYPE_CHECKING:
    from torch_tb_profiler.callback.summary import RecordingSummary
    from torch_tb_profiler.recorder.in_program import Recording
    from torch_tb_profiler.reports.scalars.tracked import RecordingVerdict

LogTexts: TypeAlias = Callable[[Mapping[str, str]], list[str]]
"""Logs the texts of a verdict by their names; returns a reason for each logger that failed."""

LogPoints: TypeAlias = "Callable[[RecordingSummary], list[str]]"
"""Likewise the points of the step metrics."""

_CLASSES = {
    "lightning": ("lightning", "LightningProfiler"),
    "transformers": ("transformers", "TransformersProfiler"),
}
"""Framework → module in this package and class of its callback."""

_LOADED = {
    "lightning": ("lightning.pytorch", "pytorch_lightning"),
    "transformers": ("transformers.trainer",),
}
"""Framework → modules that a program loads which trains with it."""

_INSTALLED = {"lightning": ("lightning", "pytorch_lightning"), "transformers": ("transformers",)}


class ProfilerCallback:
    """Records a training, prints the verdict in one line and logs it to the loggers of the
    training: soon after a window was written that on the window, and at the end of the training,
    with the step metrics, that on the recording.

    An instance is a callback of Lightning (a :class:`LightningRecorder`) or of Hugging Face's
    ``Trainer`` (a :class:`TransformersRecorder`). Of several ranks each records; the first opens
    its own recording. What fails is a warning on stderr, never an exception in the training.

    Attributes:
        recording: The recording, from the start of the training.
        verdict: The verdict, after the training; None without one.
    """

    recording: Recording | None
    verdict: RecordingVerdict | None = None
    _windows: WindowVerdicts | None = None

    def __new__(
        cls,
        folder: str | os.PathLike[str] = "logs",
        *,
        framework: str | None = None,
        **options: Any,
    ) -> ProfilerCallback:
        """Create the callback of the framework that the program uses."""
        if cls is not ProfilerCallback:
            return object.__new__(cls)
        module, name = _CLASSES[_framework(framework)]
        chosen = getattr(import_module(f"torch_tb_profiler.callback.{module}"), name)
        created: ProfilerCallback = chosen.__new__(chosen, folder, **options)
        return created

    def __init__(
        self,
        folder: str | os.PathLike[str] = "logs",
        *,
        framework: str | None = None,  # noqa: ARG002 - chose the class
        **options: Any,
    ) -> None:
        """Create the callback; recording starts with the training.

        Args:
            folder: See :func:`torch_tb_profiler.record`.
            framework: ``"lightning"`` or ``"transformers"``; None: the one that is loaded.
            options: As of :func:`torch_tb_profiler.record`.

        Raises:
            ImportError: neither framework is installed.
            ValueError: both are loaded and none is named; or steps or times are invalid.
            TypeError: there is no such option.
        """
        super().__init__(folder, **options)  # type: ignore[call-arg]

    def _follow_windows(self, log_texts: LogTexts) -> None:
        """At the end of a step, in its thread: report the verdict on a window that was written.

        Args:
            log_texts: See :data:`LogTexts`.
        """
        recording = self.recording
        if recording is None:
            return
        if self._windows is None or self._windows.recording is not recording:
            self._windows = WindowVerdicts(recording)
        try:
            answer = self._windows.poll()
            if isinstance(answer, dict):
                _print(f"{answer[VERDICT]} {_how(recording)}")
                _warn(log_texts(answer))
            elif answer is not None:
                _print(f"warning: a window was not analyzed: {answer} {_how(recording)}")
        except Exception as error:  # the training goes on
            _print(f"warning: a window was not analyzed: {error} {_how(recording)}")

    def _report(self, log_texts: LogTexts, log_points: LogPoints) -> None:
        """Open the finished recording, print its verdict and log it.

        Args:
            log_texts: See :data:`LogTexts`.
            log_points: See :data:`LogPoints`.
        """
        if self._windows is not None:
            self._windows.end()
        recording = self.recording
        if recording is None or recording.worker is None:
            return
        try:
            from torch_tb_profiler.callback.summary import summarize_apart  # noqa: PLC0415 - polars

            summary = summarize_apart(recording.folder, recording.worker)
            self.verdict = summary.verdict
            texts = summary.verdict.texts()
            _print(f"{texts[VERDICT]} {_how(recording)}")
            _warn([*log_texts(texts), *log_points(summary)])
            if summary.shown_steps < summary.steps:
                count = f"{summary.shown_steps:,} of {summary.steps:,} steps"
                _print(f"logged {count}; all: torch-tb-profiler scalars {recording.folder} --to …")
        except Exception as error:  # the training is over, and its result counts
            _print(f"warning: the recording was not analyzed: {error} {_how(recording)}")


def _how(recording: Recording) -> str:
    return f"Open it: torch-tb-profiler open {recording.folder}"


def _warn(reasons: Iterable[str]) -> None:
    for reason in reasons:
        _print(f"warning: the verdict or the step metrics were not logged: {reason}")


def _framework(name: str | None) -> str:
    """The framework that is meant."""
    if name is not None:
        if name not in _CLASSES:
            raise ValueError(f"framework is one of {', '.join(_CLASSES)}, not {name!r}")
        return name
    loaded = [each for each, modules in _LOADED.items() if any(m in sys.modules for m in modules)]
    installed = [each for each, names in _INSTALLED.items() if any(map(find_spec, names))]
    candidates = loaded or installed
    if not candidates:
        raise ImportError("neither lightning nor transformers is installed")
    if len(candidates) > 1:
        how = " or ".join(f'framework="{each}"' for each in candidates)
        raise ValueError(f"the program may use {' or '.join(candidates)}: say which with {how}")
    return candidates[0]


def _print(text: str) -> None:
    with suppress(OSError, ValueError):  # stderr may be closed
        print(f"torch-tb-profiler: {text}", file=sys.stderr)
