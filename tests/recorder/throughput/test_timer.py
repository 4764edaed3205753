"""The public timer compared with a brute-force clock that records every instant."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import torch_tb_profiler
from tests.helpers.opening import open_file
from torch_tb_profiler.recorder.throughput.timer import Timer
from torch_tb_profiler.storage.locations import Location

MS = 1_000_000


@dataclass
class Clock:
    """A clock that advances when told, and slightly at each read."""

    now_ns: int = 5_000_000_000
    read_ns: int = 40

    def __call__(self) -> int:
        self.now_ns += self.read_ns
        return self.now_ns

    def sleep(self, ms: float) -> None:
        self.now_ns += round(ms * MS)


@dataclass
class Program:
    """A program with a timer and a synthetic clock."""

    clock: Clock = field(default_factory=Clock)
    timer: Timer = field(default_factory=lambda: Timer(warmup_steps=0))
    batch_ms: list[float] = field(default_factory=list)
    reader_ms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.timer._now = self.clock

    def step(self, reader_ms: float, rest_ms: float, samples: int | None = None) -> None:
        self.timer.before_reader()
        self.clock.sleep(reader_ms)
        self.timer.after_reader()
        self.clock.sleep(rest_ms)
        self.timer.step(samples)
        self.reader_ms.append(reader_ms)
        self.batch_ms.append(reader_ms + rest_ms)


def test_agrees_with_a_brute_force_clock() -> None:
    program, numbers = Program(), random.Random(5)
    program.timer.begin()
    for _ in range(200):
        program.step(numbers.uniform(0.1, 3), numbers.uniform(1, 20), 32)
    result = program.timer.summary().train
    assert result is not None
    assert result.reader_cost_us is not None
    assert result.samples_per_s is not None
    whole_s, waited_s = sum(program.batch_ms) / 1e3, sum(program.reader_ms) / 1e3
    assert result.batch_cost_us.mean / 1e6 == pytest.approx(whole_s / 200, rel=0.01)
    assert result.batch_cost_us.max / 1e3 == pytest.approx(max(program.batch_ms), rel=0.01)
    assert result.reader_cost_us.mean / 1e6 == pytest.approx(waited_s / 200, rel=0.01)
    assert result.samples_per_s.mean == pytest.approx(200 * 32 / whole_s, rel=0.01)
    assert result.reader_ratio_pct == pytest.approx(100 * waited_s / whole_s, rel=0.01)


def test_several_reads_in_a_step_add_up() -> None:
    program = Program()
    program.timer.begin()
    for _ in range(2):
        program.timer.before_reader()
        program.clock.sleep(4)
        program.timer.after_reader()
        program.clock.sleep(1)
    program.timer.step()
    result = program.timer.summary().train
    assert result is not None
    assert result.reader_cost_us is not None
    assert result.reader_cost_us.mean == pytest.approx(8000, rel=0.01)
    assert result.batch_cost_us.mean == pytest.approx(10_000, rel=0.01)


def test_evaluation_and_pauses_are_excluded_from_training() -> None:
    program = Program()
    program.timer.begin()
    for number in range(12):
        program.step(1, 9, 8)
        if number % 4 == 3:
            with program.timer.evaluation():
                for _ in program.timer.wrap([0, 1]):
                    program.clock.sleep(30)
            with program.timer.pause():
                program.clock.sleep(500)
    result = program.timer.summary()
    assert result.train is not None
    assert result.evaluation is not None
    assert (result.train.steps, result.evaluation.steps) == (12, 6)
    assert result.train.batch_cost_us.max == pytest.approx(10_000, rel=0.01)
    assert result.evaluation.batch_cost_us.mean == pytest.approx(30_000, rel=0.01)


def test_an_evaluation_within_a_step_is_subtracted() -> None:
    program = Program()
    program.timer.begin()
    program.clock.sleep(4)
    with program.timer.evaluation():
        program.clock.sleep(100)  # no step of it ends: it has none
    program.clock.sleep(6)
    program.timer.step()
    result = program.timer.summary()
    assert result.evaluation is None
    assert result.train is not None
    assert result.train.batch_cost_us.mean == pytest.approx(10_000, rel=0.01)


class Rows:
    """A batch: an object with a shape."""

    shape = (16, 3)


class Wild:
    @property
    def shape(self) -> int:
        raise RuntimeError("not now")


def test_wrap_counts_the_start_and_the_end_of_the_iterator() -> None:
    """A loader starts its workers when it is asked for an iterator (30 ms), and stops them when it
    has no more batches (10 ms): a stopwatch says 30 + 3 · (2 + 5) in the first epoch, and 10 more
    in the second. Waits for batches are 2 ms each, as Paddle's timer has them."""
    program = Program()

    class Loader:
        def __iter__(self) -> Iterator[int]:
            program.clock.sleep(30)
            return self._batches()

        def _batches(self) -> Iterator[int]:
            for number in range(3):
                program.clock.sleep(2)
                yield number
            program.clock.sleep(10)

    for _ in range(2):
        for _ in program.timer.wrap(Loader()):
            program.clock.sleep(5)
        with program.timer.evaluation():
            for _ in program.timer.wrap(Loader()):
                program.clock.sleep(1)
        program.clock.sleep(1000)
    summary = program.timer.summary()
    train, evaluation = summary.train, summary.evaluation
    assert train is not None
    assert evaluation is not None
    assert train.steps == evaluation.steps == 6
    assert train.reader_cost_us is not None
    assert train.batch_cost_us.mean * 6 == pytest.approx((2 * (30 + 3 * 7) + 10) * 1000, rel=1e-4)
    assert train.batch_cost_us.max == pytest.approx(47_000, rel=1e-4)
    assert train.reader_cost_us.max == pytest.approx(2000, rel=1e-3)
    assert train.reader_ratio_pct == pytest.approx(12 / 112 * 100, rel=1e-3)
    assert evaluation.batch_cost_us.mean * 6 == pytest.approx(2 * (30 + 3 * 3) * 1000, rel=1e-4)


@pytest.mark.parametrize(
    ("batch", "samples"),
    [(Rows(), 16), ([Rows(), None], 16), ({"x": Rows()}, 16), ("text", None), (Wild(), None)],
)
def test_wrap_times_the_loop_and_knows_the_samples(batch: object, samples: int | None) -> None:
    program = Program()

    def slow() -> Iterator[object]:
        for _ in range(5):
            program.clock.sleep(2)
            yield batch

    for _epoch in range(2):
        for each in program.timer.wrap(slow()):
            assert each is batch
            program.clock.sleep(8)
        program.clock.sleep(1000)
    result = program.timer.summary().train
    assert result is not None
    assert result.steps == 10
    assert result.batch_cost_us.max == pytest.approx(10_000, rel=0.01)
    assert result.reader_ratio_pct == pytest.approx(20, rel=0.01)
    assert result.samples == (None if samples is None else 10 * samples)


def test_warmup_is_excluded_and_reported() -> None:
    program = Program(timer=torch_tb_profiler.Timer())
    program.timer.begin()
    for number in range(40):
        program.step(0, 5000 if number == 0 else 10)
    result = program.timer.summary()
    assert result.train is not None
    assert (result.warmup_steps, result.train.steps) == (4, 36)
    assert result.train.batch_cost_us.max == pytest.approx(10_000, rel=0.01)
    assert "first tenth" in result.warmup_rule
    assert "(36 steps after 4 steps of warm-up)" in str(result)


def test_only_warmup_steps() -> None:
    program = Program(timer=Timer(warmup_steps=3))
    program.step(1, 1)
    result = program.timer.summary()
    assert (result.warmup_steps, result.train) == (1, None)
    with pytest.raises(ValueError, match="negative"):
        Timer(warmup_steps=-1)


def test_a_step_that_never_started_is_not_counted() -> None:
    timer = Timer()
    timer.after_reader()
    timer.step(3)
    assert timer.summary().train is None
    timer.step(3)
    assert timer.summary().warmup_steps == 1


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("RANK", "3")
    program = Program()
    program.timer.begin()
    for _ in range(20):
        program.step(2, 8, 32)
    return program


def test_saved_figures_and_steps(timed: Program, tmp_path: Path) -> None:
    path = timed.timer.save(tmp_path / "run1")
    assert path == str(tmp_path / "run1" / "rank3.throughput.json")
    figures = json.loads(Path(path).read_text())
    assert figures["train"]["steps"] == 20
    assert figures["train"]["batch_cost_us"]["mean"] == pytest.approx(10_000, rel=0.01)
    journal = str(tmp_path / "run1" / "rank3.record.jsonl")
    trace = open_file(Location(journal, journal), cache=None)
    steps = trace.side["timed_steps"].frame
    assert steps["duration_us"].to_list() == pytest.approx([10_000] * 20, rel=0.01)
    assert steps["samples"].to_list() == [32] * 20


def test_saving_again_replaces_only_its_own_files(timed: Program, tmp_path: Path) -> None:
    first = timed.timer.save(tmp_path)
    timed.step(2, 8)
    assert timed.timer.save(tmp_path) == first
    assert json.loads(Path(first).read_text())["train"]["steps"] == 21
    another = Timer()
    assert another.save(tmp_path) != first, "the name is taken by another"
    named = timed.timer.save(tmp_path / "mine.throughput.json")
    assert Path(named).exists()
    assert (tmp_path / "mine.record.jsonl").exists()


def test_saving_into_an_unwritable_folder_fails(timed: Program, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        timed.timer.save(tmp_path / "file" / "run")
