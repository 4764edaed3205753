"""Programs of many kinds recorded by the command alone: they are unchanged, and the detected steps
are those that they record themselves (``programs/truth.py``).

The end of a step is right if it lies between two instants measured by the program: before its end
and after the start of the next step. So no machine is too slow. The program reads the system's
clock; the recorder reads it once and continues with the monotonic one: :data:`CLOCKS_NS` is the
allowed drift.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.record_command import record
from torch_tb_profiler.api import OpenedTrace

PROGRAMS = Path(__file__).parent / "programs"
CLOCKS_NS = 3_000_000
"""Clocks are slewed by half a millisecond a second at most; a program takes six."""

WHOLE_RUN = "whole run"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
TIMER_ONLY = ("--timer-only",)


@dataclass(frozen=True)
class Case:
    """A program, how it is started and recorded, and what is true by construction.

    Attributes:
        arguments: Its file and arguments; ``FOLDER`` stands for the folder of the test.
        by: How its steps are detected.
        options: Options of the recorder.
        starter: Launcher module, after python.
        code: Its exit code.
        ranks: Number of recorded processes.
        window: First and last step of its window; None: the recorder's profiler does not run.
        stderr: What it writes to stderr; None: its libraries write varying text.
        sees_end: Whether the end of its last step is observable: a loop that knows the number of
            batches does not request another one.
    """

    arguments: tuple[str, ...]
    by: str
    options: tuple[str, ...] = ()
    starter: tuple[str, ...] = ()
    code: int = 0
    ranks: int = 1
    window: tuple[int, int] | None = (5, 9)
    stderr: str | None = ""
    sees_end: bool = True


TRACEBACK = """Traceback (most recent call last):
  File "{file}", line {line}, in <module>
    raise ValueError("no such step")
ValueError: no such step
"""
CASES = {
    "plain": Case(("plain.py",), "optimizer"),
    "loader": Case(("loader.py", "--output", "its own"), "optimizer"),
    "4 workers": Case(("loader.py", "--workers", "4"), "optimizer", stderr=None),
    "iterable": Case(("iterable.py",), "loader", TIMER_ONLY, window=None),
    "lightning": Case(("lightning_fit.py",), "optimizer", stderr=None, sees_end=False),
    "trainer": Case(("trainer.py",), "optimizer", stderr=None),
    "ranks": Case(("ddp.py",), "optimizer", starter=TORCHRUN, ranks=2, stderr=None),
    "compiled": Case(("compiled.py",), "optimizer"),
    "inference": Case(("inference.py",), "loader"),
    "crash": Case(("crash.py",), "optimizer", code=1, window=(5, 7), stderr=TRACEBACK),
    "own profiler": Case(("own_profiler.py", "FOLDER/own"), "module", window=None, stderr=None),
    "notebook": Case(("odd.py", "FOLDER/elsewhere"), "module", TIMER_ONLY, code=3, window=None),
    "forks": Case(("forks_first.py",), "loader", TIMER_ONLY, code=4, window=None),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_is_unchanged_and_its_steps_are_detected(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    case = CASES[name]
    (tmp_path / "elsewhere").mkdir()

    recording = record(tmp_path, _command(case, tmp_path), *case.options)
    ended_ns = time.time_ns()

    assert recording.done.returncode == case.code, recording.done.stderr
    assert recording.done.stdout == "".join(rank["printed"] for rank in recording.truth)
    assert case.stderr is None or recording.stderr == _filled(case.stderr, case)
    assert len(recording.truth) == case.ranks
    for rank, truth in enumerate(recording.truth):
        worker = f"rank{rank}" if case.ranks > 1 else None
        with recording.open(worker, WHOLE_RUN) as opened:
            assert len(opened.workers) == case.ranks
            _check_steps(opened, truth, case, ended_ns)
            _check_views(opened, has_loader=truth["steps"][0]["samples"] is not None)
        if case.window is not None:
            with recording.open(worker, "1") as opened:
                assert _steps_of_window(opened) == case.window
                assert opened.operators().frame.height > 0


def _command(case: Case, folder: Path) -> list[str]:
    script, *arguments = (each.replace("FOLDER", str(folder)) for each in case.arguments)
    return [sys.executable, *case.starter, str(PROGRAMS / script), *arguments]


def _filled(stderr: str, case: Case) -> str:
    file = PROGRAMS / case.arguments[0]
    lines = file.read_text(encoding="utf-8").splitlines()
    raises = [number for number, line in enumerate(lines, 1) if "raise " in line]
    return stderr.format(file=file, line=raises[0] if raises else None)


def _check_steps(opened: OpenedTrace, truth: dict[str, Any], case: Case, ended_ns: int) -> None:
    """Every step of every phase is recorded once, with the right end.

    Args:
        opened: The recording.
        truth: What the program knows of itself.
        case: The program.
        ended_ns: When its process had ended, nanoseconds since 1970.
    """
    base_ns = opened.trace.meta.base_ns
    rows = opened.trace.side["timed_steps"].frame.sort("start_us").rows(named=True)
    for phase in ("train", "evaluation"):
        actual = [row for row in rows if row["phase"] == phase]
        expected = [step for step in truth["steps"] if step["phase"] == phase]
        # Steps that never ended are not recorded.
        whole = [step for step in expected if step["closing_ns"] is not None]
        if not case.sees_end and phase == truth["steps"][-1]["phase"]:
            whole = whole[: max(len(actual), len(whole) - 1)]
        assert [row["step"] for row in actual] == list(range(len(whole)))
        assert {row["by"] for row in actual} <= {case.by}
        # A step whose end nothing shows ends with the recording, after the program's own notes.
        last_ns = truth["ended_ns"] if case.sees_end else ended_ns
        begins = [*(step["begin_ns"] for step in expected[1:]), last_ns]
        for row, step, next_ns in zip(actual, whole, begins, strict=False):
            end_ns = base_ns + round((row["start_us"] + row["duration_us"]) * 1000)
            # Nothing follows the last call of a module: its step ends with the call itself.
            ends_with_call = case.by == "module" and step is expected[-1]
            first_ns = expected[-2]["closing_ns"] if ends_with_call else step["closing_ns"]
            assert first_ns - CLOCKS_NS <= end_ns <= next_ns + CLOCKS_NS
            assert step["samples"] in (None, row["samples"])
        for before, after in pairwise(actual):
            assert before["start_us"] + before["duration_us"] <= after["start_us"] + 0.001


def _check_views(opened: OpenedTrace, *, has_loader: bool) -> None:
    """The views have data, and the same number of steps."""
    for name in ("overview", "resources", *(["data"] if has_loader else [])):
        assert opened.views()[name] is None, name
        assert opened.view(name).tables, name
    assert opened.view("overview").table("throughput").height > 0


def _steps_of_window(opened: OpenedTrace) -> tuple[int, int]:
    numbers = [int(name) for name in opened.trace.steps["name"].to_list()]
    return min(numbers), max(numbers)
