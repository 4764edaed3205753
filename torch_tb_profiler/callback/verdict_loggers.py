"""Logs the texts of a verdict to what a training logs to. Imported between its steps: without
polars, which would hold one up."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from torch_tb_profiler.callback.problems import problem_of
from torch_tb_profiler.reports.scalars.verdict_texts import log_to_mlflow, log_to_wandb


def log_texts_to_loggers(loggers: Iterable[Any], texts: Mapping[str, str]) -> list[str]:
    """Log to the loggers of Lightning that take texts.

    Returns:
        A reason for each that failed.
    """
    problems = (problem_of(type(each).__name__, partial(_log, each, texts)) for each in loggers)
    return [each for each in problems if each is not None]


def log_texts_to_active(texts: Mapping[str, str]) -> list[str]:
    """Log to the runs of MLflow and W&B that a ``Trainer`` has open.

    Returns:
        A reason for each that failed.
    """
    logs = {"MLflow": _active_mlflow, "W&B": _active_wandb}
    problems = (problem_of(name, partial(log, texts)) for name, log in logs.items())
    return [each for each in problems if each is not None]


def active_mlflow_run() -> tuple[Any, str] | None:
    """A client of MLflow and the id of the run that is open; None without one."""
    mlflow: Any = sys.modules.get("mlflow")
    run = None if mlflow is None else mlflow.active_run()
    return None if run is None else (mlflow.MlflowClient(), run.info.run_id)


def active_wandb_run() -> Any:
    """The run of W&B that is open; None without one."""
    wandb: Any = sys.modules.get("wandb")
    return None if wandb is None else wandb.run


def _log(logger: Any, texts: Mapping[str, str]) -> None:
    names = {each.__name__ for each in type(logger).__mro__}
    if "TensorBoardLogger" in names:
        for name, text in texts.items():
            logger.experiment.add_text(name, text)
        logger.experiment.flush()
    elif "MLFlowLogger" in names:
        log_to_mlflow(logger.experiment, logger.run_id, texts)
    elif "WandbLogger" in names:
        log_to_wandb(logger.experiment, texts)


def _active_mlflow(texts: Mapping[str, str]) -> None:
    active = active_mlflow_run()
    if active is not None:
        log_to_mlflow(*active, texts)


def _active_wandb(texts: Mapping[str, str]) -> None:
    run = active_wandb_run()
    if run is not None:
        log_to_wandb(run, texts)
