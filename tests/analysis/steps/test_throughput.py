"""Timed steps by what they are, against the run they were made of; figures as the recorder's own.

Cases: training, warm-up, windows, evaluation; a journal that tells no warm-up; the small file and
the pages say the same of any steps; no timer.
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from typing import Any

import pytest
from msgspec import structs

from tests.helpers.recorder import MS, START_NS, Run, blocks_of, journal_columns
from tests.helpers.traces import op, trace
from torch_tb_profiler.analysis.steps.throughput import StepSet, TimedSteps, timed_steps
from torch_tb_profiler.recorder.throughput.figures import StepFigures
from torch_tb_profiler.recorder.throughput.throughput_file import throughput_from_blocks
from torch_tb_profiler.trace.build import build_trace

RUN = Run(steps=40, evaluate_every=10, warmup_steps=3, windows=((10, 14),))


def timed(journal: Run | list[dict[str, Any]]) -> TimedSteps:
    found = timed_steps(build_trace(journal_columns(journal)))
    assert found is not None
    return found


def test_steps_are_apart_by_what_they_are() -> None:
    found = timed(RUN)
    parts = (found.warmup, found.train, found.traced, found.evaluation)
    assert [len(part) for part in parts] == [3, 40 - 3 - 5, 5, 12]
    assert found.knows_warmup
    assert found.train.reader_ratio_pct == pytest.approx(20)
    assert found.train.samples_per_s is not None
    assert found.train.samples_per_s.mean == pytest.approx(3200)
    # The first step of the window begins after ten steps and one evaluation of three.
    assert found.traced.start_us[0] - found.warmup.start_us[0] == pytest.approx(130_000)


def test_without_word_of_warm_up_none_is_left_out() -> None:
    blocks = [block for block in blocks_of(RUN) if block["kind"] != "timer"]
    found = timed(blocks)
    assert not found.knows_warmup
    assert (len(found.warmup), len(found.train)) == (0, 35)


def random_blocks(seed: int) -> list[dict[str, Any]]:
    """Steps of any length, of which some waits and samples are not known."""
    numbers = random.Random(seed)
    at, rows = START_NS, []
    for number in range(numbers.randrange(1, 60)):
        took = numbers.randrange(1, 30) * MS + numbers.randrange(1000)
        wait = numbers.choice([None, 0, took // 3])
        rows.append((number, at, at + took, wait, numbers.choice([None, 8, 32])))
        at += took
    columns = ("step", "start_ns", "end_ns", "reader_ns", "samples")
    steps = {
        name: list(values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)
    }
    header = blocks_of(RUN)[0]
    return [
        header,
        {"kind": "timer", "warmup_steps": numbers.randrange(4)},
        {"kind": "steps", "phase": "train", "by": "optimizer", **steps},
    ]


def same(own: StepSet, other: StepFigures | None) -> None:
    if other is None:
        assert len(own) == 0
        return
    assert len(own) == other.steps
    for name in ("batch_cost_us", "reader_cost_us", "steps_per_s", "samples_per_s"):
        mine, theirs = getattr(own, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert structs.asdict(mine) == pytest.approx(asdict(theirs), rel=1e-6), name
    assert own.reader_ratio_pct == pytest.approx(other.reader_ratio_pct, rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_pages_and_the_small_file_say_the_same(seed: int) -> None:
    blocks = random_blocks(seed)
    written, found = throughput_from_blocks(blocks), timed(blocks)
    assert written is not None
    same(found.train, written.train)
    assert len(found.warmup) == written.warmup_steps


def test_a_trace_that_nothing_timed() -> None:
    assert timed_steps(trace([op("aten::mm", 0, 5)])) is None


def test_steps_beside_a_profiler_that_made_no_window_stand_apart_too() -> None:
    run = replace(RUN, windows=(), evaluate_every=0)
    told = next(each for each in blocks_of(run) if each["kind"] == "steps")
    stretch = {"kind": "profiler", "start_ns": told["start_ns"][4], "end_ns": told["end_ns"][4]}
    longer = stretch | {"end_ns": told["end_ns"][5]}
    odd = {"kind": "profiler", "start_ns": "x"}
    found = timed([*blocks_of(run), stretch, longer, odd])
    assert (len(found.train), len(found.traced)) == (35, 2)
