"""The small file's figures from the blocks of a journal: made-up runs whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorder import Run, blocks_of
from torch_tb_profiler.recorder.throughput.throughput_file import (
    throughput_from_blocks,
    write_throughput,
)

RUN = Run(steps=40, evaluate_every=10, warmup_steps=3, windows=((10, 14),))


def test_training_evaluation_and_traced_steps_are_apart() -> None:
    told = throughput_from_blocks(blocks_of(RUN))
    assert told is not None
    assert told.train is not None
    assert told.evaluation is not None
    assert told.traced is not None
    assert told.warmup_steps == 3
    assert (told.train.steps, told.evaluation.steps, told.traced.steps) == (40 - 3 - 5, 12, 5)
    assert told.train.batch_cost_us.mean == pytest.approx(10_000)
    assert told.train.reader_ratio_pct == pytest.approx(20)
    assert told.train.samples == 32 * told.train.steps


def test_steps_told_twice_count_once() -> None:
    blocks = blocks_of(RUN)
    assert throughput_from_blocks([*blocks, *blocks]) == throughput_from_blocks(blocks)


def test_a_window_that_lasts_on() -> None:
    blocks = blocks_of(replace(RUN, windows=()))
    start_ns = next(each for each in blocks if each["kind"] == "steps")["start_ns"][6]
    told = throughput_from_blocks([*blocks, {"kind": "window", "trace": "t", "start_ns": start_ns}])
    assert told is not None
    assert told.train is not None
    assert told.train.steps == 3


def test_steps_beside_a_profiler_that_made_no_window() -> None:
    blocks = blocks_of(replace(RUN, windows=(), evaluate_every=0))
    told = next(each for each in blocks if each["kind"] == "steps")
    stretch = {"kind": "profiler", "start_ns": told["start_ns"][4], "end_ns": told["end_ns"][4]}
    longer = stretch | {"end_ns": told["end_ns"][5]}
    found = throughput_from_blocks([*blocks, stretch, longer])
    assert found is not None
    assert found.train is not None
    assert found.traced is not None
    assert (found.train.steps, found.traced.steps) == (35, 2)


@pytest.mark.parametrize(
    "block",
    [
        {"kind": "steps"},
        {"kind": "steps", "phase": []},
        {"kind": "steps", "phase": "train", "start_ns": 3},
        {"kind": "steps", "phase": "train"}
        | {key: ["x", None, True, -4] for key in ("start_ns", "end_ns", "reader_ns", "samples")},
        {"kind": "timer", "warmup_steps": "x"},
        {"kind": "window", "trace": {}, "start_ns": "y"},
        {"kind": ["steps"]},
    ],
)
def test_blocks_without_sense_are_left_out(block: dict[str, Any]) -> None:
    assert throughput_from_blocks([block]) is None
    assert throughput_from_blocks([*blocks_of(RUN), block]) == throughput_from_blocks(
        blocks_of(RUN)
    )


def test_the_file(tmp_path: Path) -> None:
    told = throughput_from_blocks(blocks_of(RUN))
    assert told is not None
    path = tmp_path / "rank0.throughput.json"
    write_throughput(str(path), told)
    written = json.loads(path.read_text())
    assert written["version"] == 1
    assert written["train"]["batch_cost_us"]["median"] == pytest.approx(10_000)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
