"""Calls that keep the host although the recording shows no device at work."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import Event, call, frame, memcpy, op
from torch_tb_profiler.detectors.blocked_host import detect

LENGTH = 470_000.0
"""As the decoding step of a serving engine: one graph, one copy that waits for it."""


def decoding(graph: str = "hipGraphLaunch") -> list[Event]:
    return [
        frame("serve.py(40): step", 0, 469_000, python_id=1),
        *launched("k", 20, 30, 1),
        call(graph, 100, 50, corr=2),
        op("aten::copy_", 400, 463_500),
        call("hipMemcpyWithStream", 500, 463_000, corr=3),
        memcpy(463_490, 5, name="CopyDeviceToHost", corr=3),
        *launched("k", 464_000, 30, 4),
    ]


def test_the_call_that_fills_the_gap_is_named_with_its_operator_and_line() -> None:
    advice = finding(detect(context(one_step(decoding(), length=LENGTH))))
    assert advice.gain_us is None
    assert advice.measured == pytest.approx(98.5, abs=0.1)
    text = advice.note().text
    assert "hipMemcpyWithStream in aten::copy_, from serve.py(40): step" in text
    assert "launches graphs" in text
    assert advice.rows[0]["idle_us"] == pytest.approx(462_990, abs=10)
    assert advice.spot is not None


def test_it_comes_first_and_graphs_are_not_advised() -> None:
    notes = notes_of(one_step(decoding(), length=LENGTH))
    assert next(iter(notes)) == "blocked_host"
    assert "launch_bound" not in notes
    assert not any("reduce-overhead" in note.text for note in notes.values())


def test_without_graphs_the_copy_itself_may_be_slow() -> None:
    advice = finding(detect(context(one_step(decoding("hipLaunchKernel"), length=LENGTH))))
    assert advice.variant == "fetch"


def test_waits_for_recorded_work_and_uploads_are_not() -> None:
    waited = [*launched("k", 20, 800, 1), call("cudaDeviceSynchronize", 30, 795)]
    assert detect(context(one_step(waited))) is None
    upload = [
        call("cudaMemcpy", 100, 800, corr=1),
        memcpy(890, 5, corr=1),
        *launched("k", 950, 10, 2),
    ]
    assert detect(context(one_step(upload))) is None


def test_without_calls_there_is_no_finding() -> None:
    events = [event for event in decoding() if event["cat"] != "cuda_runtime"]
    assert detect(context(one_step(events, length=LENGTH))) is None


def test_the_timeline_shows_the_call() -> None:
    advice = finding(detect(context(one_step(decoding(), length=LENGTH))))
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (500_000, 463_500_000)


def test_a_function_is_named_once() -> None:
    events = [event for event in decoding() if event["name"] != "aten::copy_"]
    text = finding(detect(context(one_step(events, length=LENGTH)))).note().text
    assert "longest in hipMemcpyWithStream in serve.py(40): step)" in text
