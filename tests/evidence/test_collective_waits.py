"""The workers of a run wait for each other."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, one_step
from tests.helpers.traces import Event, annotation, kernel
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers as workers_compared
from torch_tb_profiler.detectors.waiting_ranks import detect_across_workers
from torch_tb_profiler.evidence.context import Context


def run(
    *calls: tuple[int, ...], computing: tuple[Event, ...] = (), name: str = "gloo:all_reduce"
) -> dict[str, Context]:
    """Per worker its durations of the same collectives, the n-th of which ends at 200 n µs."""
    contexts = {}
    for number, durations in enumerate(calls):
        events = [
            annotation(name, 200 * at - dur, dur, tid=2) for at, dur in enumerate(durations, 1)
        ]
        contexts[f"w{number}"] = context(one_step([*events, *computing]))
    return contexts


IN_TURN = (10, 150, 150), (150, 10, 150), (150, 150, 10)
"""Each of three workers is late once."""


def test_the_gain_is_the_mean_wait() -> None:
    """Each waits twice for 140 of 150 µs, in a step of 1000."""
    advice = finding(detect_across_workers(run(*IN_TURN)))
    assert advice.measured == pytest.approx(28.0)
    assert advice.gain_us == pytest.approx(280)
    assert advice.values["wait_share"] == pytest.approx(280 / 310 * 100)
    (row,) = advice.rows
    assert (row["calls"], row["least_us"], row["longest_us"], row["wait_us"]) == (9, 10, 150, 840)
    assert advice.spot is not None
    assert (advice.spot.worker, advice.spot.start_ns, advice.spot.end_ns) == ("w0", 250e3, 390e3)
    assert advice.variant == "turns"
    assert "Averaged over the 3 ranks" in advice.text
    assert "(280 µs to 280 µs per step)" in advice.text


def test_the_rank_that_waits_least_is_named() -> None:
    """140 of 150 µs: w0 waits three times, w1 once, w2 each time."""
    calls = (10, 150, 150, 150), (150, 10, 10, 10), (150, 150, 150, 150)
    advice = finding(detect_across_workers(run(*calls)))
    assert advice.variant == "run"
    assert advice.values["least"] == "w1"
    assert advice.values["most"] == "w2"
    assert advice.measured == pytest.approx((3 + 1 + 4) * 140 / 3 / 1000 * 100)
    assert "w1 waits least (140 µs per step) and w2 most (560 µs)" in advice.text
    assert "check the data loading of w1" in advice.text


def test_where_one_is_always_late_the_straggler_supersedes_it() -> None:
    traces = {name: each.trace for name, each in run((150, 150), (10, 10)).items()}
    assert [note.code for note in workers_compared(traces, Selection())] == ["straggler"]


def test_waits_that_computation_hides_are_none() -> None:
    busy = (kernel("gemm", 0, 900),)
    assert detect_across_workers(run(*IN_TURN, computing=busy)) is None


@pytest.mark.parametrize("name", ["gloo:recv 0<-1", "nccl:all_reduce"])
def test_schedules_and_calls_that_only_enqueue_have_no_wait(name: str) -> None:
    assert detect_across_workers(run(*IN_TURN, name=name)) is None


def test_transfers_that_are_long_for_all_are_no_wait() -> None:
    assert detect_across_workers(run((150, 150), (140, 160))) is None
