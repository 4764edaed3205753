"""Verdicts on windows while a recording goes on: one analysis at a time, of the last window that
was written; from a process that may end or take too long."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorder import Run, write_run
from torch_tb_profiler.callback import window_verdicts
from torch_tb_profiler.callback.profiler_callback import ProfilerCallback
from torch_tb_profiler.callback.window_verdicts import WindowVerdicts, _texts
from torch_tb_profiler.loading.processes.executors import WorkerDiedError
from torch_tb_profiler.recorder.in_program import Recording


class RunningRecording(Recording):
    """A recording with as many windows as a test says."""

    windows = 0

    def __init__(self) -> None:
        self.folder = "logs"

    @property
    def worker(self) -> str | None:
        return "rank0"

    @property
    def written_windows(self) -> int:
        return self.windows


class Analyses:
    """In place of processes: the analyses that were started, and how many were ended."""

    def __init__(self) -> None:
        self.started: list[Future[dict[str, str] | str]] = []
        self.ended = 0

    def __call__(self, workers: int) -> Analyses:
        assert workers == 1
        return self

    def submit(self, function: Callable[..., Any], *arguments: str) -> Future[dict[str, str] | str]:
        assert (function, arguments) == (_texts, ("logs", "rank0"))
        self.started.append(Future())
        return self.started[-1]

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        assert cancel_futures
        assert not wait
        self.ended += 1


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> Analyses:
    created = Analyses()
    monkeypatch.setattr(window_verdicts, "LocalExecutor", created)
    return created


def test_windows_are_analyzed_one_after_the_other(analyses: Analyses) -> None:
    recording = RunningRecording()
    verdicts = WindowVerdicts(recording)
    assert [verdicts.poll(), verdicts.poll(), len(analyses.started)] == [None, None, 0]
    recording.windows = 1
    assert [verdicts.poll(), verdicts.poll(), len(analyses.started)] == [None, None, 1]
    recording.windows = 3  # two more while the first one is analyzed
    assert [verdicts.poll(), len(analyses.started)] == [None, 1]
    analyses.started[0].set_result({"a": "first"})
    assert [verdicts.poll(), analyses.ended] == [{"a": "first"}, 1]
    assert [verdicts.poll(), len(analyses.started)] == [None, 2]
    analyses.started[1].set_result("There is no window.")
    assert [verdicts.poll(), verdicts.poll()] == ["There is no window.", None]
    assert (len(analyses.started), analyses.ended) == (2, 2)


def test_a_process_that_ends_or_takes_too_long(
    analyses: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = RunningRecording()
    recording.windows = 1
    verdicts = WindowVerdicts(recording)
    verdicts.poll()
    analyses.started[0].set_exception(WorkerDiedError("SIGKILL"))
    assert verdicts.poll() == "The process of the analysis ended: SIGKILL."
    recording.windows = 2
    monkeypatch.setattr(window_verdicts, "TIME_LIMIT_S", 0.0)
    verdicts.poll()
    assert verdicts.poll() == "The analysis took more than 0 s."
    assert (verdicts.poll(), analyses.ended) == (None, 2)


@pytest.mark.parametrize(
    ("windows", "calls"), [(((10, 10), (30, 39)), 10), (((10, 19), (30, 30)), 1)]
)
def test_the_texts_are_those_of_the_last_window_of_a_worker(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    windows: tuple[tuple[int, int], ...],
    calls: int,
) -> None:
    niceness: list[int] = []
    monkeypatch.setattr(os, "nice", niceness.append)
    # Without an end, as a recording that goes on.
    write_run(tmp_path, Run(steps=60, windows=windows, ended=None))
    texts = _texts(str(tmp_path), "rank0")
    assert isinstance(texts, dict)
    # One call of 5 ms in every step of 10 ms.
    assert "10.0 ms" in texts["profiler/verdict"]
    assert f"aten::mm 100 % ({calls}×)" in texts["profiler/finding_1"]
    assert _texts(str(tmp_path), "rank7") == f"{tmp_path} holds no window of rank7."
    assert niceness == [19, 19]


def test_nothing_reaches_the_training(
    analyses: Analyses, capsys: pytest.CaptureFixture[str]
) -> None:
    callback: ProfilerCallback = object.__new__(ProfilerCallback)
    callback.recording = recording = RunningRecording()
    recording.windows = 1
    logged: list[object] = []

    def log(texts: object) -> list[str]:
        logged.append(texts)
        raise RuntimeError("disk full")

    callback._follow_windows(log)
    analyses.started[0].set_result({"profiler/verdict": "Slow."})
    callback._follow_windows(log)
    assert logged == [{"profiler/verdict": "Slow."}]
    recording.windows = 2
    callback._follow_windows(log)
    analyses.started[1].set_result("It is damaged.")
    callback._follow_windows(log)
    assert capsys.readouterr().err.splitlines() == [
        "torch-tb-profiler: Slow. Open it: torch-tb-profiler open logs",
        "torch-tb-profiler: warning: a window was not analyzed: disk full"
        " Open it: torch-tb-profiler open logs",
        "torch-tb-profiler: warning: a window was not analyzed: It is damaged."
        " Open it: torch-tb-profiler open logs",
    ]
    callback.recording = other = RunningRecording()
    other.windows = 1
    callback._follow_windows(log)
    assert len(analyses.started) == 3
