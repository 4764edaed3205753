"""Figures from the blocks of synthetic journals whose truth is known."""

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


def test_training_evaluation_and_traced_steps_are_separate() -> None:
    result = throughput_from_blocks(blocks_of(RUN))
    assert result is not None
    assert result.train is not None
    assert result.evaluation is not None
    assert result.traced is not None
    assert result.warmup_steps == 3
    assert (result.train.steps, result.evaluation.steps, result.traced.steps) == (40 - 3 - 5, 12, 5)
    assert result.train.batch_cost_us.mean == pytest.approx(10_000)
    assert result.train.reader_ratio_pct == pytest.approx(20)
    assert result.train.samples == 32 * result.train.steps


def test_duplicate_steps_count_once() -> None:
    blocks = blocks_of(RUN)
    assert throughput_from_blocks([*blocks, *blocks]) == throughput_from_blocks(blocks)


def test_a_window_without_an_end() -> None:
    blocks = blocks_of(replace(RUN, windows=()))
    start_ns = next(each for each in blocks if each["kind"] == "steps")["start_ns"][6]
    result = throughput_from_blocks(
        [*blocks, {"kind": "window", "trace": "t", "start_ns": start_ns}]
    )
    assert result is not None
    assert result.train is not None
    assert result.train.steps == 3


def test_steps_slowed_by_a_profiler_without_a_window() -> None:
    blocks = blocks_of(replace(RUN, windows=(), evaluate_every=0))
    result = next(each for each in blocks if each["kind"] == "steps")
    stretch = {"kind": "profiler", "start_ns": result["start_ns"][4], "end_ns": result["end_ns"][4]}
    longer = stretch | {"end_ns": result["end_ns"][5]}
    actual = throughput_from_blocks([*blocks, stretch, longer])
    assert actual is not None
    assert actual.train is not None
    assert actual.traced is not None
    assert (actual.train.steps, actual.traced.steps) == (35, 2)


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
def test_invalid_blocks_are_skipped(block: dict[str, Any]) -> None:
    assert throughput_from_blocks([block]) is None
    assert throughput_from_blocks([*blocks_of(RUN), block]) == throughput_from_blocks(
        blocks_of(RUN)
    )


def test_the_file_holds_the_figures(tmp_path: Path) -> None:
    result = throughput_from_blocks(blocks_of(RUN))
    assert result is not None
    path = tmp_path / "rank0.throughput.json"
    write_throughput(str(path), result)
    written = json.loads(path.read_text())
    assert written["version"] == 1
    assert written["train"]["batch_cost_us"]["median"] == pytest.approx(10_000)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
