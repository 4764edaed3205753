"""Recordings without steps in which something repeats."""

from __future__ import annotations

from tests.detectors.scenes import context, finding
from tests.evidence.test_sources import rows_of
from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.detectors.no_iterations import detect


def repeated(count: int) -> list[Event]:
    """A forward and a backward operator per repetition."""
    events: list[Event] = []
    for number in range(count):
        events += [op("model::forward", 100 * number, 60), op("aten::mm", 100 * number + 70, 20)]
    return events


def test_what_repeats_is_proposed() -> None:
    of = trace(repeated(8))
    advice = finding(detect(context(of)))
    assert rows_of(advice, {"w": of})["name"][0] == "model::forward"
    assert "iterations_by=name:model::forward" in advice.text
    assert advice.rows[0]["name"] == "model::forward"
    assert advice.rows[0]["calls"] == 8
    assert advice.spot is not None
    assert advice.gain_us is None


def test_with_steps_a_key_node_or_without_repetition_there_is_no_finding() -> None:
    assert detect(context(trace([step(1, 0, 900), *repeated(8)]))) is None
    assert detect(context(split_iterations(trace(repeated(8)), "name:model::forward"))) is None
    assert detect(context(trace([op("aten::mm", 0, 10)]))) is None
