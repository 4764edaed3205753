"""A worker that arrives last."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, one_step
from tests.helpers.traces import annotation
from torch_tb_profiler.advice import Context
from torch_tb_profiler.advice.straggler import detect_in_run


def run(*durations: float) -> dict[str, Context]:
    """Workers in one all_reduce that ends at 500 for all."""
    return {
        f"w{number}": context(one_step([annotation("gloo:all_reduce", 500 - dur, dur)]))
        for number, dur in enumerate(durations)
    }


def test_the_last_to_arrive_is_named_with_the_delay() -> None:
    advice = finding(detect_in_run(run(300, 100, 150)))
    assert advice.values["worker"] == "w1"
    assert advice.measured == pytest.approx(5.0)
    assert advice.gain_us == pytest.approx(50)


@pytest.mark.parametrize("issue", ["truncated", "gzip_truncated", "gzip_corrupt"])
def test_a_recording_that_was_cut_short_accuses_nobody(issue: str) -> None:
    """w1 would be named; a dropped event alone does not make half a recording."""
    contexts = run(300, 100, 150)
    contexts["w1"].trace.quality.add("event_dropped")
    assert finding(detect_in_run(contexts)).values["worker"] == "w1"
    contexts["w1"].trace.quality.add(issue)
    assert detect_in_run(contexts) is None


def test_workers_that_arrive_together_are_not_stragglers() -> None:
    assert detect_in_run(run(100, 100)) is None
    assert detect_in_run(run(100, 110)) is None
