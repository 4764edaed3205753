"""The summary of a recording: bounded, from a process that may end or take too long."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.recorder import Run, write_run
from torch_tb_profiler.callback import summary
from torch_tb_profiler.callback.summary import MAX_STEPS, evenly, summarize, summarize_apart
from torch_tb_profiler.loading.processes.executors import WorkerDiedError
from torch_tb_profiler.requests.errors import OpenError


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_long_trainings_are_thinned_out(tmp_path: Path) -> None:
    write_run(tmp_path / "run", Run(steps=1_200, rank=0, windows=((10, 14),)))
    write_run(tmp_path / "run", Run(steps=1_200, rank=1, windows=((10, 14),)))
    answer = summarize(str(tmp_path / "run"), "rank0")
    steps = sorted({each.step for each in answer.scalars})
    assert answer.steps >= 1_200
    assert len(steps) == answer.shown_steps == MAX_STEPS
    gaps = {later - step for step, later in pairwise(steps)}
    assert gaps == {2, 3}


def test_evenly() -> None:
    assert evenly([1, 2, 3], 3) == [1, 2, 3]
    assert evenly(list(range(101)), 5) == [0, 25, 50, 75, 100]


def test_it_is_the_same_from_a_process_of_its_own(tmp_path: Path) -> None:
    write_run(tmp_path / "run", Run(steps=50, rank=0, windows=((10, 14),)))
    folder = str(tmp_path / "run")
    assert summarize_apart(folder, "rank0") == summarize(folder, "rank0")
    with pytest.raises(OpenError, match="holds no recording of rank7"):
        summarize_apart(folder, "rank7")


class DyingExecutor:
    """Its process is killed."""

    def __init__(self, workers: int) -> None:
        assert workers == 1

    def submit(self, *_task: object) -> Future[object]:
        future: Future[object] = Future()
        future.set_exception(WorkerDiedError("SIGKILL"))
        return future

    def shutdown(self, wait: bool) -> None:
        assert not wait


def test_a_process_that_ends_or_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", Run(steps=50, rank=0))
    with pytest.raises(OpenError, match="took more than 0 s"):
        summarize_apart(str(tmp_path / "run"), "rank0", limit_s=0)
    monkeypatch.setattr(summary, "LocalExecutor", DyingExecutor)
    with pytest.raises(OpenError, match="The process of the analysis ended: SIGKILL"):
        summarize_apart(str(tmp_path / "run"), "rank0")
