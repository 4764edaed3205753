"""Logs the points of a summary to the runs that a ``Trainer`` has open: MLflow's and W&B's active
ones, and an event file of TensorBoard. The ``Trainer`` gives its callbacks no way to its own log
call."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torch_tb_profiler.callback.problems import problem_of
from torch_tb_profiler.callback.summary import RecordingSummary
from torch_tb_profiler.callback.verdict_loggers import active_mlflow_run, active_wandb_run
from torch_tb_profiler.reports.scalars import mlflow_runs, wandb_runs

TENSORBOARD_FOLDER = "TENSORBOARD_LOGGING_DIR"
"""Variable that names the ``Trainer``'s own folder of event files."""


def log_to_active(args: Any, summary: RecordingSummary) -> list[str]:
    """Log to all of them.

    Args:
        args: The ``TrainingArguments``.
        summary: The summary.

    Returns:
        A reason for each that failed.
    """
    logs: dict[str, Callable[[RecordingSummary], None]] = {"MLflow": _mlflow, "W&B": _wandb}
    if "tensorboard" in (args.report_to or ()):
        logs["TensorBoard"] = partial(_tensorboard, args)
    problems = (problem_of(name, partial(log, summary)) for name, log in logs.items())
    return [each for each in problems if each is not None]


def _mlflow(summary: RecordingSummary) -> None:
    active = active_mlflow_run()
    if active is not None:
        mlflow_runs.log_points(*active, summary.scalars)


def _wandb(summary: RecordingSummary) -> None:
    run = active_wandb_run()
    if run is not None:
        wandb_runs.log_points(run, summary.scalars)


def _tensorboard(args: Any, summary: RecordingSummary) -> None:
    from torch_tb_profiler.reports.scalars.files import write_events  # noqa: PLC0415 - tensorboard

    folder = os.environ.get(TENSORBOARD_FOLDER) or os.path.join(args.output_dir, "runs")
    if summary.scalars:
        write_events(Path(folder).expanduser() / "profiler", summary.scalars)
