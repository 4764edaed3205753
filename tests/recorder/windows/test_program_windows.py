"""The program's own profiler, created before and during the run: its traces are windows of the
run."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.helpers.recorded_steps import (  # noqa: E402
    Program,
    only_window,
    recorded,
    window_steps,
)

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")

CPU = torch.profiler.ProfilerActivity.CPU


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_programs_profiler_has_priority(tmp_path: Path, ending: str) -> None:
    exported = tmp_path / f"mine.json{ending}"

    def export(profiler: Any) -> None:
        profiler.export_chrome_trace(str(exported))

    with recorded(tmp_path / "run", timer_only=False) as result:
        program = Program()
        with torch.profiler.profile(
            activities=[CPU],
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
            on_trace_ready=export,
        ) as profiler:
            for number in range(14):
                if number in (2, 3):
                    time.sleep(0.15)  # longer than a profiler takes to start
                program.step()
                profiler.step()
    window = only_window(result)
    own = gzip.decompress(exported.read_bytes()) if ending else exported.read_bytes()
    assert (window["first_step"], window["last_step"]) == (2, 3)
    assert result.events(window) == json.loads(own)["traceEvents"]
    assert "its own profiler" in result.reasons("window")[0]
    assert len(result.steps_of("train")) == 14


def test_the_programs_profiler_with_module_calls_as_steps(tmp_path: Path) -> None:
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path / "mine"))
    with recorded(tmp_path / "run", timer_only=False) as result, torch.inference_mode():
        net = torch.nn.Linear(500, 500)
        with torch.profiler.profile(
            activities=[CPU], schedule=schedule, on_trace_ready=handler
        ) as profiler:
            for _ in range(9):
                for _ in range(3):
                    net(torch.ones(5, 500))
                    # At least half of a step must be recorded, also of one that a busy machine
                    # stretches after the profiler has stopped.
                    time.sleep(0.05)
                profiler.step()
    assert window_steps(result) == [(2 * 3, 5 * 3 - 1)]


def test_the_recorder_waits_for_the_programs_profiler(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False) as result:
        program = Program()
        program.train(4)  # the recorder's warms up
        with torch.autograd.profiler.profile():
            program.train(4)
        program.train(9)
    (window,) = [each for each in result.windows() if each["state"] == "written"]
    assert (window["first_step"], window["last_step"]) == (9, 13)


def test_the_recorder_stops_when_the_programs_profiler_starts(tmp_path: Path) -> None:
    with recorded(tmp_path, timer_only=False, steps=(1, 9)) as result:
        program = Program()
        program.train(4)
        with torch.autograd.profiler.profile() as profiler:
            program.train(1)
        assert profiler.function_events
        program.train(9)
    window = result.windows()[0]
    assert (window["first_step"], window["last_step"]) == (1, 3)
    assert "own profiler" in window["reason"]
