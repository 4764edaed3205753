"""torch.compile at work inside the steps. Names as torch 2.14 records them."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import Event, frame, op
from torch_tb_profiler.detectors.compilation import detect


def compiling(ts: float, dur: float) -> list[Event]:
    return [
        op("entire_frame_compile", ts, dur),
        op("_compile.compile_inner (dynamo_timed)", ts + 1, dur - 2),
        op("bytecode_tracing (dynamo_timed)", ts + 2, dur - 4),
    ]


def test_nested_stages_count_once() -> None:
    events = [*compiling(100, 200), *compiling(500, 100), op("aten::mm", 700, 100)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(30)
    assert advice.gain_us == pytest.approx(300)
    assert advice.rows == [{"stage": "entire_frame_compile", "calls": 2, "total_us": 300.0}]
    assert "(2×" in advice.text


@pytest.mark.parametrize(("dur", "speaks"), [(50, False), (51, True)])
def test_the_threshold(dur: float, speaks: bool) -> None:
    assert (detect(context(one_step(compiling(100, dur)))) is not None) is speaks


def test_code_that_is_compiled_again_has_another_remedy() -> None:
    region = op("Torch-Compiled Region: 0/2", 400, 10)
    advice = finding(detect(context(one_step([*compiling(100, 200), region]))))
    assert advice.variant == "again"
    assert "mark_dynamic" in advice.text
    first = op("Torch-Compiled Region: 12/0", 400, 10)
    advice = finding(detect(context(one_step([*compiling(100, 200), first]))))
    assert advice.variant == "default"


def test_frames_of_the_compiler_count_too() -> None:
    events = [frame("torch/_dynamo/convert_frame.py(911): compile_inner", 100, 400)]
    assert finding(detect(context(one_step(events)))).measured == pytest.approx(40)


def test_idle_time_during_compilation_is_reported_once() -> None:
    """The host has a finding of its own on other idle time only."""
    events = [*compiling(10, 600), op("aten::mm", 620, 300)]
    for number in range(4):
        events += launched("k", 630 + 70 * number, 5, number + 1)
    notes = notes_of(one_step(events))
    gains = {code: note.evidence["estimated_gain_us_per_step"] for code, note in notes.items()}
    assert gains["compilation"] == pytest.approx(600)
    assert isinstance(gains["launch_bound"], float)
    assert gains["launch_bound"] < 400
