"""Logs the points of a summary to loggers of Lightning: with their times where a logger can take
them, else by the framework's own call."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from torch_tb_profiler.callback.problems import problem_of
from torch_tb_profiler.callback.summary import RecordingSummary
from torch_tb_profiler.reports.scalars import mlflow_runs, wandb_runs
from torch_tb_profiler.reports.scalars.tracked import moments


def log_to_loggers(loggers: Iterable[Any], summary: RecordingSummary) -> list[str]:
    """Log to each of them.

    Returns:
        A reason for each that failed.
    """
    problems = (problem_of(type(each).__name__, partial(_log, each, summary)) for each in loggers)
    return [each for each in problems if each is not None]


def _log(logger: Any, summary: RecordingSummary) -> None:
    names = {each.__name__ for each in type(logger).__mro__}
    log = next((log for name, log in _LOGS.items() if name in names), _log_metrics)
    log(logger, summary)


def _tensorboard(logger: Any, summary: RecordingSummary) -> None:
    writer = logger.experiment
    for each in summary.scalars:
        writer.add_scalar(each.tag, each.value, each.step, walltime=each.wall_time_s)
    writer.flush()


def _mlflow(logger: Any, summary: RecordingSummary) -> None:
    mlflow_runs.log_points(logger.experiment, logger.run_id, summary.scalars)


def _wandb(logger: Any, summary: RecordingSummary) -> None:
    wandb_runs.log_points(logger.experiment, summary.scalars)


def _log_metrics(logger: Any, summary: RecordingSummary) -> None:
    for step, _, values in moments(summary.scalars):
        logger.log_metrics(values, step=step)
    logger.save()


_LOGS = {"TensorBoardLogger": _tensorboard, "MLFlowLogger": _mlflow, "WandbLogger": _wandb}
"""Class of a logger, or of one it derives from → how it is logged to."""
