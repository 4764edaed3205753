"""Where ``torch-tb-profiler scalars`` writes: event files of TensorBoard, MLflow, W&B."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from torch_tb_profiler.reports.scalars.files import folders_of, write_events
from torch_tb_profiler.reports.scalars.tracked import TrackedRun, Tracker
from torch_tb_profiler.requests.errors import RequestError

TENSORBOARD = "tensorboard"


class EventFiles:
    """Event files in a folder per worker."""

    def __init__(self, output: Path) -> None:
        """``output`` is TensorBoard's logdir."""
        self._output = output
        self._folders: dict[tuple[str, str], Path] = {}

    def expect(self, workers: Sequence[tuple[str, str]]) -> None:
        """Choose the folders of the workers of a path."""
        self._folders = dict(zip(workers, folders_of(self._output, workers), strict=True))

    def log(self, tracked: TrackedRun) -> str:
        """Write the file of a worker.

        Raises:
            OSError: it cannot be written.
        """
        return str(write_events(self._folders[tracked.run, tracked.worker], tracked.scalars))


def trackers_for(arguments: Namespace) -> list[Tracker]:
    """What ``--to`` names, each once.

    Raises:
        RequestError: options do not fit together, or a package is not installed.
    """
    names = list(dict.fromkeys(arguments.to or [TENSORBOARD]))
    is_for_files = TENSORBOARD in names
    if is_for_files != (arguments.output is not None):
        message = "--to tensorboard needs --output" if is_for_files else "--output has no effect"
        hint = "Give --output DIR, TensorBoard's logdir." if is_for_files else "Leave it out."
        raise RequestError("bad_parameter", f"{message}.", hint)
    if names == [TENSORBOARD] and (arguments.experiment or arguments.run_name):
        message = "--experiment and --run-name have no effect on event files."
        raise RequestError("bad_parameter", message, "Add --to mlflow or --to wandb.")
    return [_tracker(name, arguments) for name in names]


def _tracker(name: str, arguments: Namespace) -> Tracker:
    if name == TENSORBOARD:
        return EventFiles(Path(arguments.output))
    if name == "mlflow":
        from torch_tb_profiler.reports.scalars.mlflow_runs import (  # noqa: PLC0415 - start-up
            MlflowTracker,
        )

        return MlflowTracker(arguments.experiment, arguments.run_name)
    from torch_tb_profiler.reports.scalars.wandb_runs import WandbTracker  # noqa: PLC0415

    return WandbTracker(arguments.experiment, arguments.run_name)
