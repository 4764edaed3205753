"""Much of the step is communication that nothing could hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.detectors.scenes import context, finding, load, one_step
from tests.helpers.traces import Event, annotation, kernel, op, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import exposed_communication
from torch_tb_profiler.detectors.communication_share import detect
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.views.distributed.view import distributed


def test_communication_above_the_threshold_is_advised() -> None:
    events = [annotation("gloo:all_reduce", 0, 101, tid=2), annotation("gloo:barrier", 300, 20)]
    of = context(one_step(events))
    advice = finding(detect(of))
    assert advice.measured == pytest.approx(12.1)
    assert advice.gain_us == pytest.approx(121)
    assert [(row["name"], row["calls"], row["total_us"]) for row in advice.rows] == [
        ("gloo:all_reduce", 1, 101.0),
        ("gloo:barrier", 1, 20.0),
    ]
    assert advice.time is not None
    assert advice.time.start_ns.tolist() == [0, 300_000]
    assert advice.spot is not None
    assert advice.spot.slice is not None
    assert advice.spot == Spot(0, 101_000, advice.spot.slice)
    assert of.trace.text(of.trace.slices["name_code"][advice.spot.slice]) == "gloo:all_reduce"


def test_at_the_threshold_or_behind_computation_it_is_not() -> None:
    assert detect(context(one_step([annotation("gloo:all_reduce", 0, 100)]))) is None
    hidden = [annotation("gloo:all_reduce", 0, 500), kernel("gemm", 0, 500)]
    assert detect(context(one_step(hidden))) is None
    on_host = [annotation("gloo:all_reduce", 0, 400, tid=2), op("aten::mm", 0, 900)]
    assert detect(context(one_step(on_host))) is None


def test_ranges_that_only_enqueue_say_nothing() -> None:
    assert detect(context(one_step([annotation("nccl:all_reduce", 0, 500)]))) is None


@pytest.mark.parametrize("computing", [op("aten::mm", 150, 750), kernel("gemm", 150, 750)])
def test_if_computation_could_overlap_it_the_other_finding_is_reported(computing: Event) -> None:
    """Communication from 0 to 400, computation from 150 to 900: one finding for one time."""
    of = context(one_step([annotation("gloo:all_reduce", 0, 400, tid=2), computing]))
    assert detect(of) is None
    other = finding(exposed_communication.detect(of))
    assert other.measured == pytest.approx(15.0)
    assert other.gain_us == pytest.approx(150)
    assert other.note().text.startswith(
        "38 % of the communication runs while nothing computes (15.0 % of the step), although the "
        "step has computation that could overlap 150 µs of it."
    )


@pytest.mark.parametrize(
    ("other", "words", "never"),
    [
        (op("AddmmBackward0", 900, 1), "gradient accumulation", "ranks per model replica"),
        (
            annotation("Optimizer.step#SGD.step", 900, 1),
            "gradient accumulation",
            "ranks per model replica",
        ),
        (op("aten::mm", 900, 1), "ranks per model replica", "gradient"),
        (op("aten::mm", 900, 1), "ranks per model replica", "batch"),
    ],
)
def test_inference_gets_no_advice_about_training(other: Event, words: str, never: str) -> None:
    alone = [annotation("gloo:all_reduce", 0, 400, tid=2), kernel("gemm", 400, 450), other]
    text = finding(exposed_communication.detect(context(one_step(alone)))).note().text
    assert words in text
    assert never not in text


def test_without_operators_the_text_covers_training_and_inference() -> None:
    """A recording of device work alone."""
    events = [kernel("ncclDevKernel_AllReduce(x)", 0, 400), kernel("gemm", 400, 300)]
    text = finding(exposed_communication.detect(context(trace(events)))).note().text
    assert "training with gradient accumulation" in text
    assert "inference with fewer ranks" in text


def test_sends_and_receives_are_the_schedules() -> None:
    events = [annotation("gloo:recv", 0, 300, tid=2), annotation("gloo:all_reduce", 500, 100)]
    advice = finding(detect(context(one_step(events))))
    assert advice.variant == "pipeline"
    assert "75 % of that in sends and receives" in advice.note().text
    few = [annotation("gloo:recv", 0, 100, tid=2), annotation("gloo:all_reduce", 500, 300)]
    assert finding(detect(context(one_step(few)))).variant == "either"


def test_calls_that_run_at_the_same_time_count_once_in_the_evidence() -> None:
    events = [
        annotation("gloo:all_reduce", 0, 200, tid=2),
        annotation("gloo:all_reduce", 150, 100, tid=3),
    ]
    (row,) = finding(detect(context(one_step(events)))).rows
    assert (row["calls"], row["total_us"]) == (2, 250.0)


@pytest.mark.parametrize(
    ("elements", "expected"),
    [((None, None), (None, 0)), ((0, None), (None, 0)), ((1000, None), (4000, 1))],
)
def test_bytes_that_are_not_recorded_are_null_and_sums_count_the_known_calls(
    elements: tuple[int | None, ...], expected: tuple[int | None, int]
) -> None:
    events: list[Event] = []
    for at, count in enumerate(elements):
        given: dict[str, Any] = {"Input Dims": [[count]], "Input type": ["float"]}
        args = {} if count is None else given
        events.append(annotation("gloo:all_reduce", 300 * at, 200, **args))
    (row,) = finding(detect(context(one_step(events)))).rows
    assert (row["calls"], row["total_bytes"], row["sized_calls"]) == (2, *expected)


def test_the_findings_of_a_cpu_run_agree_with_the_overlap_table(samples: Path) -> None:
    """rank0 of the sample run: no more to gain than its communication beside no computation."""
    path = min((samples / "cpu_ddp4_gloo").glob("rank0.*"))
    of = context(load(path))
    advice = finding(exposed_communication.detect(of) or detect(of))
    overlap = distributed({"rank0": of.trace}, Selection()).tables["overlap"].frame
    mean = overlap.filter(overlap["step"] == "all").row(0, named=True)
    assert advice.gain_us is not None
    assert advice.gain_us <= mean["communication_us"]
    assert advice.measured == pytest.approx(mean["communication_us"] / (of.step_ns / 1000) * 100)
