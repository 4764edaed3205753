"""What trackers hold, read by their own clients; points are (tag, step, seconds since 1970,
value)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.helpers.wandb_file import OfflineRun

Point = tuple[str, int, float, float]

PREFIX = "profiler/"


def offline(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which trackers write below ``folder``, without what the machine has of
    their own settings."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MLFLOW_", "WANDB_", "TENSORBOARD_"))
    }
    return own | {
        "HOME": str(folder),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
        "WANDB_DIR": str(folder),
        "WANDB_MODE": "offline",
        **more,
    }


def tensorboard_points(folder: Path) -> list[Point]:
    """The points of our tags in the event files of a folder."""
    events = EventAccumulator(str(folder))
    events.Reload()
    return sorted(
        (tag, each.step, each.wall_time, each.value)
        for tag in events.Tags()["scalars"]
        if tag.startswith(PREFIX)
        for each in events.Scalars(tag)
    )


def tensorboard_texts(folder: Path, name: str) -> list[str]:
    """The texts of a name in the event files of a folder, in the order of their times."""
    events = EventAccumulator(str(folder))
    events.Reload()
    texts = events.Tensors(f"{name}/text_summary")
    return [each.tensor_proto.string_val[0].decode() for each in texts]


def mlflow_run(folder: Path, experiment: str) -> tuple[Any, list[Point]]:
    """The only run of an experiment, and the points of our tags."""
    from mlflow import MlflowClient  # noqa: PLC0415 - not everywhere

    with pytest.MonkeyPatch.context() as environment:
        for name, value in offline(folder).items():
            environment.setenv(name, value)
        client = MlflowClient((folder / "mlruns").as_uri())
        (run,) = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
        points = [
            (tag, each.step, each.timestamp / 1000, each.value)
            for tag in run.data.metrics
            if tag.startswith(PREFIX)
            for each in client.get_metric_history(run.info.run_id, tag)
        ]
    return run, sorted(points)


def wandb_run(folder: Path) -> tuple[OfflineRun, list[Point]]:
    """The only offline run, and the points of our tags."""
    (path,) = (folder / "wandb").glob("offline-run-*")
    run = OfflineRun(path)
    points = [
        (tag, row["profiler/step"], row["_timestamp"], value)
        for row in run.rows
        for tag, value in row.items()
        if tag.startswith(PREFIX) and tag != "profiler/step"
    ]
    return run, sorted(points)


def assert_equal_points(points: list[Point], expected: list[Point], resolution_s: float) -> None:
    """Equal up to the resolution of times and to 32 bits of TensorBoard's values."""
    assert len(points) == len(expected) > 0
    for point, other in zip(sorted(points), sorted(expected), strict=True):
        assert point[:2] == other[:2]
        assert point[2] == pytest.approx(other[2], abs=resolution_s)
        assert point[3] == pytest.approx(other[3], rel=1e-6)
