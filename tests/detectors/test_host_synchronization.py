"""The GPU stands idle after the host waited for it."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, frame, memcpy, op, step, trace
from torch_tb_profiler.detectors.host_synchronization import detect


def scene(next_at: float) -> list[Event]:
    """A kernel to 100, .item() waits for it to 110, the next kernel begins at ``next_at``."""
    return [
        *launched("k", 10, 90, 1),
        op("aten::item", 20, 95),
        op("aten::_local_scalar_dense", 22, 90),
        call("cudaStreamSynchronize", 30, 80),
        *launched("k", next_at, 90, 2),
    ]


def test_the_gain_is_the_idle_time_after_the_wait() -> None:
    advice = finding(detect(context(one_step(scene(150)))))
    # From the end of the kernel, while the call returns, until the next launch has arrived.
    assert advice.gain_us == pytest.approx(50)
    assert advice.measured == pytest.approx(5.0)
    (row,) = advice.rows
    assert (row["operator"], row["call"], row["waited_us"], row["idle_us"]) == (
        "aten::_local_scalar_dense",
        "cudaStreamSynchronize",
        80.0,
        50.0,
    )
    assert advice.spot is not None
    assert advice.variant == "fetch"


def test_a_wait_that_leaves_work_or_is_followed_at_once_is_not() -> None:
    assert detect(context(one_step(scene(120)))) is None
    busy = [*launched("k", 60, 445, 9, stream=8)]
    assert detect(context(one_step([*scene(600), *busy]))) is None


def test_a_wait_on_an_idle_device_is_not() -> None:
    events = [*launched("k", 10, 20, 1), call("cudaStreamSynchronize", 40, 17)]
    assert detect(context(one_step([*events, *launched("k", 800, 100, 2)]))) is None


def test_a_wait_costs_at_most_the_time_it_blocked_the_host_while_a_device_worked() -> None:
    events = [*launched("k", 10, 40, 1), call("cudaStreamSynchronize", 20, 35)]
    events += [op("aten::slow", 60, 700), *launched("k", 800, 100, 2)]
    assert finding(detect(context(one_step(events)))).gain_us == pytest.approx(30)


def test_data_loading_after_a_wait_is_not_the_wait() -> None:
    loader = op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 112, 480)
    assert detect(context(one_step(scene(600)))) is not None
    # 10 us until the call returns, 2 us until loading begins, 7 us from its end to the launch.
    assert detect(context(one_step([*scene(600), loader]))) is None


def test_without_a_faster_host_nothing_is_gained() -> None:
    """Were the wait gone, the host would need as long as before: it is always at work."""
    hard = [op("aten::hard", 0, 1000, tid=2), *launched("k", 1100, 1, 7)]
    hard[1]["tid"] = 2
    assert detect(context(one_step([*scene(150), *hard]))) is None


def test_fetched_values_are_reported_with_the_line() -> None:
    events = [event for event in scene(400) if event["name"] != "cudaStreamSynchronize"]
    copy = call("cudaMemcpyAsync", 30, 80, corr=5)
    row = memcpy(102, 1, name="Memcpy DtoH (Device -> Pageable)", corr=5)
    stack = [frame("train.py(12): step", 0, 900, python_id=1)]
    advice = finding(detect(context(one_step([*events, copy, row, *stack]))))
    assert advice.variant == "fetch"
    assert "cudaMemcpyAsync in aten::_local_scalar_dense, from train.py(12): step" in advice.text


def test_waits_outside_the_steps_and_traces_without_waits_are_not() -> None:
    late = [*launched("k", 10, 20, 1), call("cudaDeviceSynchronize", 1500, 100)]
    assert detect(context(one_step(late))) is None
    assert detect(context(one_step(launched("k", 10, 20, 1)))) is None


def test_the_end_of_the_step_ends_the_idle_time() -> None:
    events = [*launched("k", 900, 90, 1), call("cudaDeviceSynchronize", 902, 90)]
    later = launched("k", 1200, 10, 2)
    assert detect(context(one_step([*events, *later]))) is None  # 10 us of it lie in the step
    events = [*launched("k", 850, 90, 1), call("cudaDeviceSynchronize", 852, 90)]
    advice = finding(detect(context(one_step([*events, *later]))))
    assert advice.gain_us == pytest.approx(60)
    assert advice.values["operator"] == "cudaDeviceSynchronize"
    assert advice.variant == "default"


def test_an_engine_that_waits_for_each_iteration_is_advised_to_prepare_the_next() -> None:
    graph = call("cudaGraphLaunch", 145, 1, corr=9)
    advice = finding(detect(context(one_step([*scene(150), graph]))))
    assert advice.variant == "serving"
    assert advice.gain_us == pytest.approx(50)
    training = op("autograd::engine::evaluate_function: MmBackward0", 142, 1)
    advice = finding(detect(context(one_step([*scene(150), graph, training]))))
    assert advice.variant == "fetch"


def test_waits_of_all_steps_are_one_row() -> None:
    events: list[Event] = []
    for number in range(3):
        at = 1000 * number
        events += [step(number, at, 990), call("cudaStreamSynchronize", at + 30, 470)]
        events += launched("k", at + 20, 475, number + 1)
    (row,) = finding(detect(context(trace(events)))).rows
    assert (row["operator"], row["calls"]) == ("cudaStreamSynchronize", 3)


def test_what_the_timeline_shows_ends_with_the_recording() -> None:
    last = [*launched("k", 10, 700, 1), call("cudaStreamSynchronize", 30, 680)]
    later = [op("aten::add", 712, 200), *launched("k", 930, 30, 2), op("aten::add", 960, 38)]
    advice = finding(detect(context(one_step([*last, *later]))))
    assert advice.spot is not None
    assert advice.spot.end_ns <= 1_000_000
