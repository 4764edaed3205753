"""Windows of the profiler are where they were requested, and their traces exist in all cases.

Cases: default and other schedules, a program too short for one, an error and an exit in a window,
an evaluation in one, the end of a loader in one, stopping afterwards, with and without the
profiler; a duration, with and without steps; a signal, with a handler of the program, and a file;
ranges of the program itself;
a full disk, a profiler that does not start.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from tests.helpers.recorded_steps import Program, only_window, recorded, window_steps  # noqa: E402
from torch_tb_profiler.recorder import clock, session  # noqa: E402
from torch_tb_profiler.recorder.windows import controller  # noqa: E402
from torch_tb_profiler.recorder.windows.controller import Windows  # noqa: E402
from torch_tb_profiler.recorder.windows.profiler_run import ProfilerRun  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")

CPU = torch.profiler.ProfilerActivity.CPU


def loader_of(batches: int) -> Any:
    return DataLoader(TensorDataset(torch.ones(batches, 4)), batch_size=1)


def the_windows() -> Windows:
    """The windows part of the current session."""
    current = session.current()
    assert current is not None
    part = current.parts["window"]
    assert isinstance(part, Windows)
    return part


def ticked(seconds: float = 0.0) -> None:
    """Run what the ticker does, now."""
    time.sleep(seconds)
    the_windows().flush()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(5, 9)]),
        ({"steps": (0, 2)}, [(0, 2)]),
        ({"steps": (1, 1)}, [(1, 1)]),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, [(2, 3), (6, 7)]),
        ({"wait": 0, "warmup": 0, "active": 6, "repeat": 0}, [(0, 5), (6, 11), (12, 13)]),
    ],
)
def test_windows_have_the_requested_steps(
    tmp_path: Path, options: dict[str, Any], expected: list[tuple[int, int]]
) -> None:
    with recorded(tmp_path, timer_only=False, **options) as result:
        Program().train(14)
    assert window_steps(result) == expected
    for window, (first, last) in zip(result.windows(), expected, strict=True):
        assert window["state"] == "written"
        assert not window["preview"]
        ranges = result.ranges(window)
        assert ranges[: last - first + 1] == list(range(first, last + 1))
        assert len([each for each in result.events(window) if each["name"] == "aten::linear"]) in (
            last - first + 1,
            last - first + 2,  # the step that the program ended in
        )


def test_steps_end_after_the_optimizers_range(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(1, 3)) as result:
        Program().train(5)
    events = result.events(only_window(result))
    spans = {
        kind: [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith(kind)]
        for kind in ("ProfilerStep#", "Optimizer.step#")
    }
    for start, end in spans["ProfilerStep#"]:
        assert sum(start <= each[0] and each[1] <= end for each in spans["Optimizer.step#"]) == 1


@pytest.mark.parametrize("steps", [1, 3])
def test_a_short_program_leaves_a_preview(tmp_path: Path, steps: int) -> None:
    with recorded(tmp_path, timer_only=False) as result:
        Program().train(steps)
    window = only_window(result)
    assert window["preview"]
    assert (window["state"], window["last_step"]) == ("written", steps - 1)
    assert result.ranges(window)[:steps] == list(range(steps))


def test_warnings_of_the_profiler_about_itself_are_ignored_in_a_window(tmp_path: Path) -> None:
    """torch warns of optimizers that step within the backward pass; here warnings are errors."""
    text = "torch::autograd::X (Triggered internally at /a/torch/csrc/profiler/collection.cpp:6.)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        with recorded(tmp_path, timer_only=False):
            Program().train(2)
            warnings.warn(text, UserWarning, stacklevel=1)
            with pytest.raises(UserWarning):
                warnings.warn("a warning of the program", UserWarning, stacklevel=1)
        assert warnings.filters == before


def test_a_preview_instead_of_the_requested_steps_is_said_to_be_one(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(50, 60)) as result:
        Program().train(3)
    assert only_window(result)["preview"]
    assert result.reasons("window") == [
        "The program ended before step 50: the trace is of its first steps."
    ]


@pytest.mark.parametrize(("steps", "expected"), [(3, (0, 2)), (14, (5, 9))])
def test_a_loop_in_a_thread_that_ends_first(
    tmp_path: Path, steps: int, expected: tuple[int, int]
) -> None:
    with recorded(tmp_path, timer_only=False) as result:
        thread = threading.Thread(target=lambda: Program().train(steps))
        thread.start()
        thread.join()
        torch.ones(3).abs()
    window = only_window(result)
    assert window_steps(result) == [expected]
    assert result.ranges(window)[: expected[1] - expected[0] + 1] == list(
        range(expected[0], expected[1] + 1)
    )


def test_one_call_without_a_loop_leaves_a_preview(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False) as result:
        torch.nn.Linear(4, 1)(torch.ones(2, 4))
    assert "aten::linear" in {each["name"] for each in result.events(only_window(result))}


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_an_error_in_a_window_keeps_the_recorded_part(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def fail() -> None:
        program = Program()
        program.train(7)
        program.net(torch.ones(2, 4))
        raise error

    reason = f"exception {error.__name__}"
    with recorded(tmp_path, reason, timer_only=False) as result, pytest.raises(error):
        fail()
    window = only_window(result)
    assert (window["first_step"], window["last_step"]) == (5, 6)
    assert error.__name__ in window["reason"]
    assert {5, 6} <= set(result.ranges(window))


def test_evaluation_in_a_window_is_outside_its_steps(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(1, 3)) as result:
        program = Program()
        for _ in range(5):
            for (batch,) in loader_of(1):
                program.net(batch).sum().backward()
                program.optimizer.step()
            with torch.no_grad():
                for _ in loader_of(2):
                    torch.ones(3).sin()
    window = only_window(result)
    events = result.events(window)
    steps = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith("ProfilerStep#")]
    evaluated = [each["ts"] for each in events if each["name"] == "aten::sin"]
    assert result.ranges(window) == [1, 2, 3]
    assert len(evaluated) == 6  # step 1 began before the first evaluation, and was none then
    assert not any(start <= ts <= end for ts in evaluated for start, end in steps)
    assert sum(each["name"].startswith("Evaluation#") for each in events) == 6


def test_a_long_evaluation_ends_the_window(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(1, 9)) as result:
        program = Program()
        program.train(3)
        with torch.no_grad():
            for _ in loader_of(50):
                pass
        program.train(20)
    window = only_window(result)
    assert (window["first_step"], window["last_step"]) == (1, 2)
    assert "evaluation" in window["reason"]


def test_the_end_of_a_loader_is_not_a_step_of_a_window(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(0, 5)) as result:
        for _ in range(3):
            for _ in loader_of(2):
                torch.ones(3).abs()
    window = only_window(result)
    names = [each["name"] for each in result.events(window)]
    assert result.ranges(window) == [0, 1, 2, 3, 4, 5]
    assert sum(each.startswith("between steps") for each in names) == 2


def test_what_follows_the_last_optimizer_step_is_not_a_step_of_a_window(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False) as result:
        program = Program()
        for (batch,) in loader_of(9):
            program.net(batch).sum().backward()
            program.optimizer.step()
        torch.ones(3).sin()
    window = only_window(result)
    assert (window["first_step"], window["last_step"]) == (5, 8)
    assert result.ranges(window) == [5, 6, 7, 8]
    assert "aten::sin" in {each["name"] for each in result.events(window)}


@pytest.mark.parametrize("timer_only", [False, True])
def test_stop_after_ends_the_program(tmp_path: Path, timer_only: bool) -> None:
    options: dict[str, Any] = {"timer_only": timer_only, "steps": (2, 4), "stop_after": True}
    with recorded(tmp_path, **options) as result, pytest.raises(SystemExit) as ended:
        Program().train(20)
    assert ended.value.code == 0
    assert len(result.steps_of("train")) == 5
    assert len(result.windows()) == (0 if timer_only else 1)


def test_a_program_that_ends_within_its_loader(tmp_path: Path) -> None:
    options: dict[str, Any] = {"timer_only": False, "steps": (0, 1), "stop_after": True}
    with recorded(tmp_path, **options) as result, pytest.raises(SystemExit):
        list(loader_of(9))
    assert only_window(result)["last_step"] == 1


def test_a_window_of_a_duration(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, duration_s=0.02) as result:
        program, part = Program(), the_windows()
        program.train(1)
        while not part.is_profiling:
            program.train(1)
        while part.is_profiling:
            program.train(1)
        program.train(3)
    window = only_window(result)
    assert window["state"] == "written"
    assert window["end_ns"] - window["start_ns"] >= 20_000_000
    assert window["last_step"] < len(result.steps_of("train")) - 1


def test_a_duration_in_a_program_without_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "PATIENCE_NS", 0)
    options: dict[str, Any] = {"delay_s": 0.0, "duration_s": 0.01}
    with recorded(tmp_path, timer_only=False, **options) as result:
        torch.ones(3).abs()
        ticked()  # no step ends: the main thread has to act
        for _ in range(1000):
            torch.ones(3).abs()
        ticked(0.01)
        for _ in range(1000):
            torch.ones(3).sin()
    names = {each["name"] for each in result.events(only_window(result))}
    assert "aten::abs" in names
    assert "aten::sin" not in names


def test_no_window_starts_within_an_import_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "PATIENCE_NS", 0)
    options: dict[str, Any] = {"delay_s": 0.0, "duration_s": 10.0}
    with recorded(tmp_path, timer_only=False, **options) as result:
        part = the_windows()
        for module, starts in (("torch._dynamo.utils", False), ("program", True)):
            exec(compile("ticked()", "module.py", "exec"), {"__name__": module, "ticked": ticked})
            assert part.is_profiling is starts
        torch.ones(3).abs()
    assert "aten::abs" in {each["name"] for each in result.events(only_window(result))}


def test_a_delay_before_the_steps_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"delay_s": 600.0, "wait": 0, "warmup": 0, "active": 2}
    with recorded(tmp_path, timer_only=False, **options) as result:
        program = Program()
        program.train(4)
        now = clock.perf_ns
        monkeypatch.setattr(clock, "perf_ns", lambda: now() + 601 * 10**9)
        program.train(5)
    window = only_window(result)
    assert (window["first_step"], window["last_step"]) == (4 + 1, 4 + 2)


def test_a_signal_starts_a_window_and_reaches_the_program(tmp_path: Path) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    try:
        options: dict[str, Any] = {"trigger": "SIGUSR1", "active": 2}
        with recorded(tmp_path, timer_only=False, **options) as result:
            program = Program()
            program.train(3)
            signal.raise_signal(signal.SIGUSR1)
            program.train(5)
            signal.signal(signal.SIGUSR1, lambda number, _: heard.append(-number))
            ticked()
            program.train(1)
            signal.raise_signal(signal.SIGUSR1)
            program.train(5)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1, -signal.SIGUSR1]
    assert [(each["first_step"], each["last_step"]) for each in result.windows()] == [
        (4, 5),
        (10, 11),
    ]


def test_a_file_starts_a_window(tmp_path: Path) -> None:
    requested = tmp_path / "now"
    requested.touch()
    with recorded(tmp_path / "run", timer_only=False, trigger=str(requested), active=1) as result:
        program = Program()
        ticked()
        program.train(3)
        os.utime(requested, ns=(1, 1))
        ticked()
        program.train(3)
    assert [each["first_step"] for each in result.windows()] == [4]
    assert result.reasons("window") == []


def test_the_program_marks_what_is_recorded(tmp_path: Path) -> None:
    """Twice; without CUDA its calls fail as they do without the recorder."""

    def marked(function: Callable[[], object]) -> None:
        with suppress(AssertionError, RuntimeError):
            function()

    with recorded(tmp_path, timer_only=False, program_range=True) as result:
        program = Program()
        for _ in range(2):
            program.train(4)
            marked(torch.cuda.profiler.start)
            program.train(3)
            marked(torch.cuda.profiler.stop)
    assert window_steps(result) == [(4, 6), (11, 13)]
    for window in result.windows():
        linear = [each for each in result.events(window) if each["name"] == "aten::linear"]
        assert len(linear) == 3


def test_without_a_trigger_the_missing_window_has_a_reason(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, trigger="SIGUSR1") as result:
        Program().train(3)
    assert result.windows() == []
    assert result.reasons("window") == ["The program ended before any step was to be recorded."]


def test_an_incomplete_trace_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = torch.profiler.profile.export_chrome_trace

    def full_disk(self: Any, path: str) -> None:
        export(self, path)
        os.truncate(path, 1000)

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", full_disk)
    with recorded(tmp_path, timer_only=False, steps=(0, 1)) as result:
        Program().train(4)
    window = only_window(result)
    assert window["state"] == "lost"
    assert "disk" in window["reason"]
    assert (tmp_path / f"{window['trace']}.partial").stat().st_size == 1000
    assert len(result.steps_of("train")) == 4


def test_a_profiler_that_does_not_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: ProfilerRun) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(ProfilerRun, "prepare", fail)
    with recorded(tmp_path, timer_only=False) as result:
        Program().train(12)
    assert result.windows() == []
    assert result.reasons("window") == ["The profiler did not start: no"]
    assert len(result.steps_of("train")) == 12
