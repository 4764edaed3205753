"""A worker that arrives last."""

from __future__ import annotations

import polars as pl
import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import annotation, kernel, step, trace
from torch_tb_profiler.detectors.straggler import detect_across_workers
from torch_tb_profiler.evidence.context import Context


def run(*durations: float) -> dict[str, Context]:
    """Workers in one all_reduce that ends at 500 for all."""
    return {
        f"w{number}": context(one_step([annotation("gloo:all_reduce", 500 - dur, dur)]))
        for number, dur in enumerate(durations)
    }


def test_the_last_to_arrive_is_named_with_the_delay() -> None:
    advice = finding(detect_across_workers(run(300, 100, 150)))
    assert advice.values["worker"] == "w1"
    assert advice.measured == pytest.approx(5.0)
    assert advice.gain_us == pytest.approx(50)


@pytest.mark.parametrize("issue", ["truncated", "gzip_truncated", "gzip_corrupt"])
def test_a_recording_that_was_cut_short_names_no_straggler(issue: str) -> None:
    """w1 would be named; a dropped event alone does not make half a recording."""
    contexts = run(300, 100, 150)
    contexts["w1"].trace.quality.add("event_dropped")
    assert finding(detect_across_workers(contexts)).values["worker"] == "w1"
    contexts["w1"].trace.quality.add(issue)
    assert detect_across_workers(contexts) is None


def test_the_delay_is_a_share_of_the_steps_of_the_others() -> None:
    """w1 is late by 50 µs and has a step of 4000 µs; the others have 500 µs."""
    lengths = {"w0": (300, 500), "w1": (100, 4000), "w2": (150, 500)}
    contexts = {
        name: context(one_step([annotation("gloo:all_reduce", 500 - dur, dur)], length=length))
        for name, (dur, length) in lengths.items()
    }
    advice = finding(detect_across_workers(contexts))
    assert advice.values["worker"] == "w1"
    assert advice.measured == pytest.approx(10.0)
    # On its own timeline, from the first arrival (w0's, 200 µs before its own) to the end.
    assert advice.spot is not None
    assert (advice.spot.worker, advice.spot.start_ns, advice.spot.end_ns) == ("w1", 200e3, 500e3)


def test_the_timeline_shows_the_kernel_of_the_straggler() -> None:
    """Not the call of 10 µs that enqueued it."""
    contexts = {
        name: context(
            one_step(
                [
                    annotation("nccl:all_reduce", at - 5, 10),
                    *launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at, 500 - at, 1),
                ]
            )
        )
        for name, at in (("w0", 200), ("w1", 400), ("w2", 350))
    }
    spot = finding(detect_across_workers(contexts)).spot
    assert spot is not None
    [shown] = contexts["w1"].trace.slices.filter(pl.col("id") == spot.slice).to_dicts()
    assert (spot.worker, shown["dur_ns"]) == ("w1", 100e3)


@pytest.mark.parametrize(("until", "gain_us"), [(390, 50), (490, 10)])
def test_what_others_compute_until_its_end_is_no_gain(until: int, gain_us: float) -> None:
    """Without the delay the collective ends at 450. What computes until 490 ends no sooner."""
    contexts = run(300, 100, 150)
    for name, at in (("w0", 200), ("w2", 350)):
        events = [annotation("gloo:all_reduce", at, 500 - at), kernel("gemm", at, until - at)]
        contexts[name] = context(one_step(events))
    advice = finding(detect_across_workers(contexts))
    assert advice.measured == pytest.approx(5.0)
    assert advice.gain_us == pytest.approx(gain_us)


@pytest.mark.parametrize(("second", "speaks"), [(150, True), (160, False), (210, False)])
def test_workers_that_wait_for_each_other_in_turns_are_none(second: float, speaks: bool) -> None:
    """w1 is 230 µs late at the first collective, w0 as much or less at the second."""
    calls = {"w0": ((400, 240), (900, 10)), "w1": ((400, 10), (900, 10 + second))}
    contexts = {
        name: context(
            one_step([annotation("gloo:all_reduce", end - dur, dur) for end, dur in spans])
        )
        for name, spans in calls.items()
    }
    result = detect_across_workers(contexts)
    assert (result is not None and result.values["worker"] == "w1") is speaks


def test_waits_in_receives_name_no_straggler() -> None:
    """A stage of a pipeline waits for the one before it in every receive."""
    stages = {
        "w0": [annotation("gloo:send 0->1", 400, 20)],
        "w1": [annotation("gloo:recv 1<-0", 20, 400)],
    }
    contexts = {name: context(one_step(events)) for name, events in stages.items()}
    assert detect_across_workers(contexts) is None


def test_collectives_outside_the_steps_are_no_delay_of_a_step() -> None:
    contexts = {
        name: context(trace([step(1, 1000, 100), annotation("gloo:all_reduce", 500 - dur, dur)]))
        for name, dur in {"w0": 300, "w1": 100}.items()
    }
    assert detect_across_workers(contexts) is None


def test_ranges_that_only_enqueue_name_no_straggler() -> None:
    contexts = {
        name: context(one_step([annotation("nccl:all_reduce", 500 - dur, dur)]))
        for name, dur in {"w0": 300, "w1": 100}.items()
    }
    assert detect_across_workers(contexts) is None


def test_workers_that_arrive_together_are_not_stragglers() -> None:
    assert detect_across_workers(run(100, 100)) is None
    assert detect_across_workers(run(100, 110)) is None
