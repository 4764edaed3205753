"""``ProfilerCallback`` in real trainings: every logger has the steps of the journal, the verdict is
that of the recording, and what fails does not reach the training.

The trainings are ``programs/``, each in a process of its own.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.trackers import (
    Point,
    assert_equal_points,
    mlflow_run,
    offline,
    tensorboard_points,
    wandb_run,
)
from tests.recorder.recorded_steps import steps_of
from torch_tb_profiler import ProfilerCallback
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.callback import profiler_callback

pytest.importorskip("torch")

PROGRAMS = Path(__file__).parent / "programs"
STEP_TIME = "profiler/step_time_ms"


def _train(program: str, folder: Path) -> Any:
    return subprocess.run(
        [sys.executable, str(PROGRAMS / program), str(folder)],
        env=offline(folder, PYTHONPATH=str(PROGRAMS.parents[2]), PYTHONWARNINGS="error::Warning:x"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _step_times(folder: Path) -> list[Point]:
    """The points of the step times, computed from the journal."""
    steps = steps_of(folder / "run", "train")
    return [
        (STEP_TIME, step, end_ns / 1e9, (end_ns - start_ns) / 1e6)
        for step, start_ns, end_ns in steps.select("step", "start_ns", "end_ns").rows()
    ]


def _of_steps(points: list[Point]) -> list[Point]:
    return [each for each in points if each[0] == STEP_TIME]


def _verdict(folder: Path) -> str | None:
    with open_trace(folder / "run", span="1", cache=False) as trace:
        return trace.overview().answer


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    if find_spec("lightning") is None:
        pytest.skip("lightning is not installed")
    folder = tmp_path_factory.mktemp("fit")
    return folder, _train("lightning_fit.py", folder)


def test_a_fit_of_lightning(fit: tuple[Path, Any]) -> None:
    folder, done = fit
    assert done.returncode == 0, done.stderr
    verdict = _verdict(folder)
    assert json.loads((folder / "callback.json").read_text()) == {
        "is_callback": [True] * 4,
        "options": {"steps": [5, 7]},
        "verdict": verdict,
        "reports_of_another_rank": 0,
        "error": "steps are the first and the last one to record, not (5, 2)",
    }
    lines = [line for line in done.stderr.splitlines() if line.startswith("torch-tb-profiler:")]
    how = f"Open it: torch-tb-profiler open {folder / 'run'}"
    assert lines[0] == f"torch-tb-profiler: {verdict} {how}"


def test_a_logger_that_fails_is_a_warning(fit: tuple[Path, Any]) -> None:
    _, done = fit
    (line,) = (line for line in done.stderr.splitlines() if "disk full" in line)
    assert "warning: the step metrics were not logged: Failing: RuntimeError" in line
    assert "secret" not in line


def test_loggers_of_lightning_have_the_steps(fit: tuple[Path, Any]) -> None:
    folder, _ = fit
    expected = _step_times(folder)
    assert len(expected) == 20
    points = tensorboard_points(folder / "tb" / "version_0")
    assert_equal_points(_of_steps(points), expected, resolution_s=1e-5)
    assert len({tag for tag, *_ in points}) >= 3
    with (folder / "csv" / "version_0" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row[STEP_TIME]]
    assert [int(row["step"]) for row in rows] == [step for _, step, _, _ in expected]
    assert [float(row[STEP_TIME]) for row in rows] == pytest.approx(
        [value for *_, value in expected]
    )


@pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed")
def test_wandb_of_lightning(fit: tuple[Path, Any]) -> None:
    folder, _ = fit
    run, points = wandb_run(folder)
    assert_equal_points(_of_steps(points), _step_times(folder), resolution_s=1e-5)
    assert run.summary["profiler/verdict"] == _verdict(folder)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    if find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    folder = tmp_path_factory.mktemp("training")
    return folder, _train("trainer.py", folder)


def test_a_trainer_of_transformers(training: tuple[Path, Any]) -> None:
    folder, done = training
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "callback.json").read_text()) == {"verdict": _verdict(folder)}
    assert "warning" not in "".join(
        line for line in done.stderr.splitlines() if line.startswith("torch-tb-profiler")
    )
    expected = _step_times(folder)
    assert len(expected) == 12
    points = tensorboard_points(folder / "out" / "runs" / "profiler")
    assert_equal_points(_of_steps(points), expected, resolution_s=1e-5)


@pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_of_transformers(training: tuple[Path, Any]) -> None:
    folder, _ = training
    run, points = mlflow_run(folder, "Default")
    assert run.info.status == "FINISHED"
    assert "train_loss" in run.data.metrics  # the run of the training itself
    assert_equal_points(_of_steps(points), _step_times(folder), resolution_s=0.0006)
    assert run.data.tags["profiler/verdict"] == _verdict(folder)


def test_which_framework_is_meant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    modules = {
        name: module
        for name, module in sys.modules.items()
        if name.split(".")[0] not in ("lightning", "pytorch_lightning", "transformers")
    }
    monkeypatch.setattr(sys, "modules", modules)
    framework = profiler_callback._framework
    modules["transformers.trainer"] = sys
    assert framework(None) == "transformers"
    modules["lightning.pytorch"] = sys
    with pytest.raises(ValueError, match='say which with framework="lightning" or framework='):
        framework(None)
    del modules["transformers.trainer"]
    assert framework(None) == "lightning"
    assert framework("transformers") == "transformers"
    with pytest.raises(ValueError, match="not 'keras'"):
        ProfilerCallback(tmp_path, framework="keras")
    modules.clear()
    monkeypatch.setattr(profiler_callback, "find_spec", lambda _name: None)
    with pytest.raises(ImportError, match="neither lightning nor transformers"):
        framework(None)
