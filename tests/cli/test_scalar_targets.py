"""``scalars --to``: MLflow and Weights & Biases hold the points of TensorBoard's files; what does
not fit together, is not installed or fails is an error that says what to do.

The packages run offline, in a process of their own as for a user.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done
from tests.helpers.trackers import (
    Point,
    assert_equal_points,
    mlflow_run,
    offline,
    tensorboard_points,
    wandb_run,
)
from torch_tb_profiler.api import open_trace

Run = Callable[..., Done]


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


def _scalars(folder: Path, *arguments: object, **variables: str) -> Any:
    command = [sys.executable, "-m", "torch_tb_profiler", "scalars", *map(str, arguments)]
    return subprocess.run(
        [*command, "--no-cache"],
        env=offline(folder, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def logged(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """One call for all that is installed, with two spans of a recording with a GPU."""
    folder = tmp_path_factory.mktemp("logged")
    installed = [name for name in ("mlflow", "wandb") if find_spec(name) is not None]
    to = [word for name in ("tensorboard", *installed) for word in ("--to", name)]
    names = ["--experiment", "speed", "--run-name", "night"] if installed else []
    path = samples / "kineto_resnet50_nw0"
    return folder, _scalars(folder, path, "--output", folder / "tb", *to, *names)


def _events(folder: Path) -> list[Point]:
    points = tensorboard_points(folder / "tb" / "kineto_resnet50_nw0" / "worker0")
    assert len({tag for tag, *_ in points}) >= 4
    return points


@needs("mlflow")
def test_mlflow_has_the_points_and_the_verdict(logged: tuple[Path, Any], samples: Path) -> None:
    folder, done = logged
    assert done.returncode == 0, done.stderr
    run, points = mlflow_run(folder, "speed")
    assert run.info.run_name == "night/worker0"
    assert run.info.status == "FINISHED"
    assert_equal_points(points, _events(folder), resolution_s=0.0006)
    with open_trace(samples / "kineto_resnet50_nw0", span="2", cache=False) as trace:
        assert run.data.tags["profiler/verdict"] == trace.overview().answer
    assert run.data.tags["profiler/finding_1"].startswith("Data loading: est. gain")
    assert f"MLflow run {run.info.run_id} (night/worker0)" in done.stdout


@needs("wandb")
def test_wandb_has_the_points_and_the_verdict(logged: tuple[Path, Any], samples: Path) -> None:
    folder, done = logged
    assert done.returncode == 0, done.stderr
    run, points = wandb_run(folder)
    assert f"at {run.folder}" in done.stdout
    assert (run.project, run.group, run.name) == ("speed", "night", "night/worker0")
    assert run.axes["profiler/*"] == "profiler/step"
    assert_equal_points(points, _events(folder), resolution_s=1e-6)
    with open_trace(samples / "kineto_resnet50_nw0", span="2", cache=False) as trace:
        assert run.summary["profiler/verdict"] == trace.overview().answer
    assert run.summary["profiler/finding_1"].startswith("Data loading: est. gain")


def test_options_that_do_not_fit(run: Run, samples: Path, tmp_path: Path) -> None:
    path = samples / "cpu_slowloader_nw0"
    cases: list[tuple[list[object], str]] = [
        ([], "--output DIR"),
        (["--to", "tensorboard"], "--output DIR"),
        (["--to", "wandb", "--output", tmp_path], "--output has no effect"),
        (["--output", tmp_path, "--experiment", "x"], "--to mlflow"),
        (["--to", "comet"], "invalid choice"),
    ]
    for options, message in cases:
        done = run("scalars", path, *options)
        assert done.code == 2
        assert message in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_package_that_is_not_installed(
    name: str, run: Run, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    done = run("scalars", samples / "cpu_slowloader_nw0", "--to", name)
    assert done.code == 2
    assert "not installed" in done.err
    assert f"pip install 'torch-tb-profiler[{name}]'" in done.err


@needs("mlflow")
def test_one_run_for_several_workers_is_refused(
    run: Run, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in offline(tmp_path, MLFLOW_RUN_ID="a1").items():
        monkeypatch.setenv(name, value)
    done = run("scalars", samples / "cpu_ddp4_gloo", "--to", "mlflow")
    assert done.code == 2
    assert "MLFLOW_RUN_ID names one run, and there are 4 workers." in done.err
    assert done.out == ""


@needs("mlflow")
def test_a_server_that_does_not_answer(
    run: Run, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in offline(
        tmp_path,
        MLFLOW_TRACKING_URI="http://user:secret@127.0.0.1:9",
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0",
    ).items():
        monkeypatch.setenv(name, value)
    done = run("scalars", samples / "cpu_slowloader_nw0", "--to", "mlflow")
    assert done.code == 2
    assert "MLflow could not be written" in done.err
    assert "Check MLFLOW_TRACKING_URI" in done.err
    assert "secret" not in done.err
