"""Scalars as metrics of MLflow, one run per worker; the verdict as tags."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from torch_tb_profiler.reports.scalars.credentials import without_credentials
from torch_tb_profiler.reports.scalars.tracked import TrackedRun, missing_package, tracker_errors
from torch_tb_profiler.reports.scalars.values import Scalar
from torch_tb_profiler.reports.scalars.verdict_texts import log_to_mlflow
from torch_tb_profiler.requests.errors import RequestError

NAME = "MLflow"
BATCH = 1_000
"""Metrics that the server takes at once."""

MS_PER_S = 1_000
RUN_ID, RUN_NAME = "MLFLOW_RUN_ID", "MLFLOW_RUN_NAME"


class MlflowTracker:
    """Logs to the tracking server and the experiment that MLflow's variables name."""

    def __init__(self, experiment: str | None = None, run_name: str | None = None) -> None:
        """Check that MLflow is there.

        Args:
            experiment: Name of the experiment, created if need be; None: as MLflow's variables say.
            run_name: Name that stands in place of the run's.

        Raises:
            RequestError: the package is not installed, or fails.
        """
        try:
            import mlflow  # noqa: PLC0415 - not everybody has it
        except ImportError as error:
            raise missing_package(NAME, "mlflow", "mlflow") from error
        self._mlflow: Any = mlflow
        self._run_name = run_name
        self._workers = 0
        if experiment is not None:
            with tracker_errors(NAME, _hint):
                mlflow.set_experiment(experiment)

    def expect(self, workers: Sequence[tuple[str, str]]) -> None:
        """Refuse several workers for one run.

        Raises:
            RequestError: ``MLFLOW_RUN_ID`` names a run, and there are several workers.
        """
        self._workers += len(workers)
        if RUN_ID in os.environ and self._workers > 1:
            message = f"{RUN_ID} names one run, and there are {self._workers} workers."
            raise RequestError("bad_parameter", message, "Give the path of one, or unset it.")

    def log(self, tracked: TrackedRun) -> str:
        """Log a worker as a run, or into the one that ``MLFLOW_RUN_ID`` names.

        Raises:
            RequestError: MLflow fails.
        """
        name: str | None = f"{self._run_name or tracked.run}/{tracked.worker}"
        if self._run_name is None and self._workers == 1 and RUN_NAME in os.environ:
            name = None
        with tracker_errors(NAME, _hint), self._mlflow.start_run(run_name=name) as run:
            client = self._mlflow.MlflowClient()
            log_points(client, run.info.run_id, tracked.scalars)
            log_to_mlflow(client, run.info.run_id, tracked.verdict().texts())
            where = without_credentials(self._mlflow.get_tracking_uri())
            return f"MLflow run {run.info.run_id} ({run.info.run_name}) at {where}"


def log_points(client: Any, run_id: str, scalars: Sequence[Scalar]) -> None:
    """Log points with their steps and times to a run that exists.

    Args:
        client: An ``MlflowClient``.
        run_id: Of the run.
        scalars: The points.
    """
    from mlflow.entities import Metric  # noqa: PLC0415 - not everybody has it

    metrics = (
        Metric(each.tag, each.value, round(each.wall_time_s * MS_PER_S), each.step)
        for each in scalars
    )
    for batch in _batches(metrics):
        client.log_batch(run_id, metrics=batch)


def _batches(metrics: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(metrics, BATCH)):
        yield batch


def _hint(error: Exception) -> str:
    if "MLFLOW_ALLOW_FILE_STORE" in str(error):
        return "Name a server or a database in MLFLOW_TRACKING_URI, or set MLFLOW_ALLOW_FILE_STORE."
    if "sqlite" in str(error) or "sqlalchemy" in str(error):
        return "A database needs the full package: pip install mlflow"
    return "Check MLFLOW_TRACKING_URI and MLflow's other variables."
