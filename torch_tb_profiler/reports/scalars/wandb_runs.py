"""Scalars as history of Weights & Biases, one run per worker; the verdict in its summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torch_tb_profiler.reports.scalars.tracked import (
    TrackedRun,
    missing_package,
    moments,
    tracker_errors,
)
from torch_tb_profiler.reports.scalars.values import Scalar
from torch_tb_profiler.reports.scalars.verdict_texts import log_to_wandb
from torch_tb_profiler.requests.errors import RequestError

NAME = "Weights & Biases"
STEP = "profiler/step"
"""The axis of our curves: a run's own step only grows, so that points of a training that logged
before would be dropped."""

TIME = "_timestamp"
"""Of a row, in seconds since 1970; the package sets it where it is not given."""

RUN_ID, RUN_NAME = "WANDB_RUN_ID", "WANDB_NAME"


class WandbTracker:
    """Logs to the project that W&B's variables name, or offline as they say."""

    def __init__(self, experiment: str | None = None, run_name: str | None = None) -> None:
        """Check that the package is there.

        Args:
            experiment: Name of the project; None: as W&B's variables say.
            run_name: Name that stands in place of the run's.

        Raises:
            RequestError: the package is not installed.
        """
        try:
            import wandb  # noqa: PLC0415 - not everybody has it
        except ImportError as error:
            raise missing_package(NAME, "wandb", "wandb") from error
        self._wandb: Any = wandb
        self._project = experiment
        self._run_name = run_name
        self._workers = 0

    def expect(self, workers: Sequence[tuple[str, str]]) -> None:
        """Refuse several workers for one run.

        Raises:
            RequestError: ``WANDB_RUN_ID`` names a run, and there are several workers.
        """
        self._workers += len(workers)
        if RUN_ID in os.environ and self._workers > 1:
            message = f"{RUN_ID} names one run, and there are {self._workers} workers."
            raise RequestError("bad_parameter", message, "Give the path of one, or unset it.")

    def log(self, tracked: TrackedRun) -> str:
        """Log a worker as a run; those of one run are a group.

        Raises:
            RequestError: the package fails, or nobody is logged in.
        """
        group = self._run_name or tracked.run
        name: str | None = f"{group}/{tracked.worker}"
        if self._run_name is None and self._workers == 1 and RUN_NAME in os.environ:
            name = None
        settings = self._wandb.Settings(console="off", silent=True)
        with (
            tracker_errors(NAME, _hint),
            self._wandb.init(
                project=self._project,
                group=os.environ.get("WANDB_RUN_GROUP", group),
                name=name,
                settings=settings,
            ) as run,
        ):
            log_points(run, tracked.scalars)
            log_to_wandb(run, tracked.verdict().texts())
            where = os.path.dirname(run.dir) if run.offline else run.url
            return f"Weights & Biases run {run.id} ({run.name or name}) at {where}"


def log_points(run: Any, scalars: Sequence[Scalar]) -> None:
    """Log points with their steps and times to a run that was begun."""
    run.define_metric(STEP, hidden=True)
    run.define_metric("profiler/*", step_metric=STEP)
    for step, time_s, values in moments(scalars):
        run.log({STEP: step, TIME: time_s, **values})


def _hint(_error: Exception) -> str:
    return "Log in with wandb login, or set WANDB_MODE=offline."
