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
from msgspec import Struct

from tests.helpers.trackers import (
    Point,
    assert_equal_points,
    mlflow_run,
    offline,
    tensorboard_points,
    tensorboard_texts,
    wandb_run,
)
from tests.recorder.recorded_steps import steps_of
from torch_tb_profiler import ProfilerCallback
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.callback import profiler_callback

pytest.importorskip("torch")

PROGRAMS = Path(__file__).parent / "programs"
STEP_TIME = "profiler/step_time_ms"


class Training(Struct, frozen=True):
    """A training that is over.

    Attributes:
        folder: What it wrote.
        result: What its program says of the callback.
        stderr: What it printed; ``lines`` of it are the callback's.
    """

    folder: Path
    result: dict[str, Any]
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines of the callback, without its name."""
        start = "torch-tb-profiler: "
        lines = self.stderr.splitlines()
        return [line.removeprefix(start) for line in lines if line.startswith(start)]


def _trained(folder: Path, package: str, program: str) -> Training:
    """Run a program."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / program), str(folder)],
        env=offline(folder, PYTHONPATH=str(PROGRAMS.parents[2]), PYTHONWARNINGS="error::Warning:x"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Training(folder, json.loads((folder / "callback.json").read_text()), done.stderr)


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Training:
    return _trained(tmp_path_factory.mktemp("fit"), "lightning", "lightning_fit.py")


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    return _trained(tmp_path_factory.mktemp("training"), "transformers", "trainer.py")


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


def _assert_reported(done: Training) -> None:
    """The verdict stands on stderr after the window and at the end, and nothing was in its way."""
    verdict = _verdict(done.folder)
    assert done.result["verdict"] == verdict
    first, *between, last = done.result["analyzed_after_steps"]
    # The window ends with step 7; the program waits for the verdict after step 9.
    assert (first, last) == (8, 9), between
    assert not done.result["had_analysis"]
    how = f"Open it: torch-tb-profiler open {done.folder / 'run'}"
    assert [line for line in done.lines if how in line] == [f"{verdict} {how}"] * 2


def test_a_fit_of_lightning(fit: Training) -> None:
    _assert_reported(fit)
    assert fit.result["is_callback"] == [True] * 4
    assert fit.result["options"] == {"steps": [5, 7]}
    assert fit.result["reports_of_another_rank"] == 0
    assert fit.result["error"] == "steps are the first and the last one to record, not (5, 2)"


def test_a_logger_that_fails_is_a_warning(fit: Training) -> None:
    (line,) = (line for line in fit.lines if "disk full" in line)
    assert line.startswith("warning: the verdict or the step metrics were not logged: Failing: Run")
    assert "secret" not in line


def test_loggers_of_lightning_have_the_steps(fit: Training) -> None:
    folder = fit.folder
    expected = _step_times(folder)
    assert len(expected) == 20
    points = tensorboard_points(folder / "tb" / "version_0")
    assert_equal_points(_of_steps(points), expected, resolution_s=1e-5)
    assert len({tag for tag, *_ in points}) >= 3
    # After the window and at the end.
    assert (
        tensorboard_texts(folder / "tb" / "version_0", "profiler/verdict") == [_verdict(folder)] * 2
    )
    with (folder / "csv" / "version_0" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row[STEP_TIME]]
    assert [int(row["step"]) for row in rows] == [step for _, step, _, _ in expected]
    assert [float(row[STEP_TIME]) for row in rows] == pytest.approx(
        [value for *_, value in expected]
    )


@pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed")
def test_wandb_of_lightning(fit: Training) -> None:
    folder = fit.folder
    run, points = wandb_run(folder)
    assert_equal_points(_of_steps(points), _step_times(folder), resolution_s=1e-5)
    assert run.summary["profiler/verdict"] == _verdict(folder)


def test_a_trainer_of_transformers(training: Training) -> None:
    _assert_reported(training)
    assert not any("warning" in line for line in training.lines)
    folder = training.folder
    expected = _step_times(folder)
    assert len(expected) == 12
    points = tensorboard_points(folder / "out" / "runs" / "profiler")
    assert_equal_points(_of_steps(points), expected, resolution_s=1e-5)


@pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_of_transformers(training: Training) -> None:
    folder = training.folder
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
