"""The steps of a session in its journal: each once, with its waits; also with threads."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVALUATION, TRAIN, StepRecord
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.throughput import step_timer
from torch_tb_profiler.recorder.throughput.step_timer import StepTimer

MS = 1_000_000


@pytest.fixture
def session(tmp_path: Path) -> Session:
    created = Session(Options(folder=str(tmp_path)))
    created.note_activity()
    return created


def blocks(session: Session, kind: str) -> list[dict[str, Any]]:
    lines = Path(session.journal.path).read_text().splitlines()
    return [block for block in map(json.loads, lines) if block["kind"] == kind]


def rows(session: Session, phase: str) -> list[tuple[Any, ...]]:
    return [
        row
        for block in blocks(session, "steps")
        if block["phase"] == phase
        for row in zip(*(block[name] for name in step_timer.COLUMNS), strict=True)
    ]


def ended(number: int, start_ms: float, end_ms: float, phase: str = TRAIN) -> StepRecord:
    return StepRecord(number, phase, "optimizer", round(start_ms * MS), round(end_ms * MS))


def test_a_step_has_the_waits_and_samples_of_its_batches(session: Session) -> None:
    part = StepTimer(session)
    part.batch_delivered(0, 3 * MS, 2 * MS, 8)
    part.batch_delivered(1, 6 * MS, MS // 2, 8)
    part.step_ended(ended(0, 0, 10))
    part.batch_delivered(0, 12 * MS, 3 * MS, 8)  # requested in the previous step
    part.batch_delivered(0, 21 * MS, MS, 8)  # this one in the step after
    part.step_ended(ended(1, 10, 20))
    part.step_ended(ended(2, 20, 30))
    part.step_ended(ended(3, 30, 40))
    part.flush()
    result = rows(session, TRAIN)
    assert [row[3] for row in result] == [2_500_000, 2 * MS, MS, 0]
    assert [row[4] for row in result] == [16, 8, 8, None]
    assert [row[1] for row in result] == [clock.to_unix(at * MS) for at in (0, 10, 20, 30)]
    assert [row[2] for row in result] == [clock.to_unix(at * MS) for at in (10, 20, 30, 40)]


def test_waits_between_steps_belong_to_no_step(session: Session) -> None:
    part = StepTimer(session)
    part.step_ended(ended(0, 0, 10))
    part.batch_delivered(0, 15 * MS, 5 * MS, 8)
    part.step_ended(ended(1, 20, 30))
    part.flush()
    assert [row[3:] for row in rows(session, TRAIN)] == [(None, None), (0, None)]


def test_a_batch_of_unknown_size_makes_the_samples_unknown(session: Session) -> None:
    part = StepTimer(session)
    for at, count in ((1, 8), (2, None), (3, 8)):
        part.batch_delivered(0, at * MS, 0, count)
    part.step_ended(ended(0, 0, 10))
    part.flush()
    assert rows(session, TRAIN)[0][4] is None


def test_phases_are_separate_and_only_training_has_warmup(session: Session) -> None:
    part = StepTimer(session)
    for number in range(30):
        part.step_ended(ended(number, number * 10, number * 10 + 10))
    for number in range(5):
        part.step_ended(ended(number, 300 + number, 301 + number, EVALUATION))
    part.flush()
    part.flush()
    assert [len(rows(session, phase)) for phase in (TRAIN, EVALUATION)] == [30, 5]
    assert [block["warmup_steps"] for block in blocks(session, "timer")] == [3]
    for number in range(30, 200):
        part.step_ended(ended(number, number * 10, number * 10 + 10))
    part.stop("exit")
    assert [block["warmup_steps"] for block in blocks(session, "timer")] == [3, 10]
    assert [row[0] for row in rows(session, TRAIN)] == [*range(200)]


def test_an_evaluation_run_has_no_warmup(session: Session) -> None:
    part = StepTimer(session)
    part.step_ended(ended(0, 0, 10, EVALUATION))
    part.flush()
    assert blocks(session, "timer") == []


def test_threads_neither_lose_nor_duplicate_steps(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_timer, "MAX_ROWS", 7)
    part = StepTimer(session)
    size, threads = 4000, 3
    is_over = threading.Event()

    def run(phase_step: int) -> None:
        for number in range(size):
            part.step_ended(ended(phase_step * size + number, number, number + 1))

    def flush() -> None:
        while not is_over.is_set():
            part.flush()

    flushers = [threading.Thread(target=flush) for _ in range(2)]
    runners = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for each in (*flushers, *runners):
        each.start()
    for each in runners:
        each.join()
    is_over.set()
    part.stop("exit")
    for each in flushers:
        each.join()
    assert sorted(row[0] for row in rows(session, TRAIN)) == [*range(threads * size)]


def test_steps_slowed_by_a_profiler_are_written_as_ranges(session: Session) -> None:
    windows = SimpleNamespace(is_profiling=False)
    session.parts["window"] = cast(Any, windows)
    part = StepTimer(session)
    for number in range(20):
        # It begins in step 3 and ends in step 6, begins in step 9 and goes on.
        windows.is_profiling = 3 <= number < 6 or number >= 9
        part.step_ended(ended(number, number * 10, number * 10 + 10))
        if number in (4, 12):
            part.flush()
    part.stop("exit")
    result: dict[int, int] = {}
    for block in blocks(session, "profiler"):
        start_ns, end_ns = block["start_ns"], block["end_ns"]
        result[start_ns] = max(end_ns, result.get(start_ns, 0))
    assert result == {
        clock.to_unix(30 * MS): clock.to_unix(70 * MS),
        clock.to_unix(90 * MS): clock.to_unix(200 * MS),
    }
